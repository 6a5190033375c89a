package permission

import (
	"context"
	"encoding/json"
	"fmt"
	"path"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	"pgregory.net/rapid"

	"github.com/massgen/massgen/backends"
)

// TestDecide runs scripts. "rules" sets the rules, one a line: action, tool, and
// name=pattern for arguments, with "otherwise ACTION" for the rest; "decide" has one
// call a line: the tool and its arguments.
func TestDecide(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		var rules Rules
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			var out strings.Builder
			switch d.Cmd {
			case "rules":
				rules = parse(d.Input)
				if err := rules.Check(); err != nil {
					fmt.Fprintln(&out, err)
				}
			case "decide":
				for line := range strings.SplitSeq(d.Input, "\n") {
					tool, arguments, _ := strings.Cut(line, " ")
					decision := Decide(rules, tool, arguments)
					fmt.Fprintf(&out, "%s: %s\n", decision.Action, decision.Reason)
				}
			default:
				d.Fatalf(t, "unknown command %s", d.Cmd)
			}
			return out.String()
		})
	})
}

func parse(script string) Rules {
	var rules Rules
	for line := range strings.SplitSeq(script, "\n") {
		words := strings.SplitN(line, " ", 3)
		if words[0] == "otherwise" {
			rules.Otherwise = Action(words[1])
			continue
		}
		rule := Rule{Action: Action(words[0]), Tool: strings.Join(words[1:min(2, len(words))], "")}
		if len(words) == 3 {
			rule.Arguments = map[string]string{}
			for part := range strings.SplitSeq(words[2], "; ") {
				name, pattern, _ := strings.Cut(part, "=")
				rule.Arguments[name] = pattern
			}
		}
		rules.Rules = append(rules.Rules, rule)
	}
	return rules
}

// TestOrderDoesNotMatter: a decision is the same however the rules stand.
func TestOrderDoesNotMatter(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		rule := rapid.Custom(func(t *rapid.T) Rule {
			return Rule{
				Action:    rapid.SampledFrom([]Action{Allow, Ask, Deny}).Draw(t, "action"),
				Tool:      rapid.SampledFrom([]string{"*", "read_*", "write_file", "nothing"}).Draw(t, "tool"),
				Arguments: rapid.SampledFrom([]map[string]string{nil, {"path": "a*"}, {"path": "b"}}).Draw(t, "arguments"),
			}
		})
		rules := rapid.SliceOf(rule).Draw(t, "rules")
		shuffled := rapid.Permutation(rules).Draw(t, "shuffled")
		tool := rapid.SampledFrom([]string{"read_file", "write_file"}).Draw(t, "tool")
		arguments := rapid.SampledFrom([]string{`{"path":"a"}`, `{"path":"b"}`, `{}`, ``}).Draw(t, "arguments")
		if a, b := Decide(Rules{Rules: rules}, tool, arguments), Decide(Rules{Rules: shuffled}, tool, arguments); a.Action != b.Action {
			t.Fatalf("%v and %v", a, b)
		}
	})
}

// FuzzDecideAsToolsRead holds rules to what a tool of this program makes of the same
// arguments: what is allowed is inside, and what is inside is denied.
func FuzzDecideAsToolsRead(f *testing.F) {
	for _, arguments := range []string{
		`{"path":"docs/a"}`, `{"path":"docs/../a"}`, `{"PATH":"docs/a","path":"a"}`, `{"p\u0061th":"\u0064ocs/a"}`, `{"path":"docs/\ud800"}`,
		`{"path":["docs/a"]}`, `{"path":"docs\\a"}`, `{"path":null,"path":"docs/a"}`, `{"path":"./docs//a"} `, "", "null", "{\"path\":\"docs/\xff\"}",
	} {
		f.Add(arguments)
	}
	inside := map[string]string{"path": "docs/*"}
	f.Fuzz(func(t *testing.T, arguments string) {
		allowed := Decide(Rules{Rules: []Rule{{Allow, "t", inside}}, Otherwise: Deny}, "t", arguments).Action == Allow
		denied := Decide(Rules{Rules: []Rule{{Deny, "t", inside}}}, "t", arguments).Action == Deny
		var args struct {
			Path string `json:"path"`
		}
		err := json.Unmarshal([]byte(arguments), &args)
		within := err == nil && strings.HasPrefix(path.Clean(args.Path), "docs/")
		if within && !denied || allowed && err == nil && !within {
			t.Errorf("%q has the path %q: allowed %t, denied %t", arguments, args.Path, allowed, denied)
		}
	})
}

func TestUnattended(t *testing.T) {
	for action, want := range map[Action]Action{Allow: Allow, Ask: Deny, Deny: Deny} {
		if got := (Ruling{action, "a reason"}).Unattended(Deny); got.Action != want {
			t.Errorf("%s becomes %v", action, got)
		}
	}
	if got := (Ruling{Ask, "a reason"}).Unattended(Allow); got != (Ruling{Allow, "a reason; nobody can be asked: allow"}) {
		t.Errorf("%+v", got)
	}
}

// silent is a tool that does not say whether it changes the world; knowing is one that
// does if its arguments say so.
type silent struct{}

func (p silent) Definition() backends.Tool { return backends.Tool{Name: "t"} }

func (silent) Call(context.Context, string) (string, error) { return "called", nil }

type knowing struct{ silent }

func (knowing) ChangesWorld(arguments string) bool { return arguments == "change" }

func TestPlanning(t *testing.T) {
	const note = `{"success":true,"planned":true,"note":"t was not run: this is planning. Say in your answer what it is to do; the winner can run it."}`
	for _, c := range []struct {
		arguments, plain, knowing string
	}{{"change", note, note}, {"look", note, ""}} {
		if out, planned := Planning(silent{}, c.arguments); out != c.plain || !planned {
			t.Errorf("a tool that does not know, %s: %s, planned=%t", c.arguments, out, planned)
		}
		if out, planned := Planning(knowing{}, c.arguments); out != c.knowing || planned != (out != "") {
			t.Errorf("a tool that knows, %s: %s, planned=%t", c.arguments, out, planned)
		}
	}
}

// TestRulesAreSaidOfATool: what holds for most of its calls, and what arguments change.
func TestRulesAreSaidOfATool(t *testing.T) {
	path := map[string]string{"path": "secret*"}
	rule := func(action Action, tool string, arguments map[string]string) Rule {
		return Rule{Action: action, Tool: tool, Arguments: arguments}
	}
	for _, test := range []struct {
		rules Rules
		want  string
	}{
		{Rules{}, "allow"},
		{Rules{Otherwise: Ask}, "ask"},
		{Rules{Otherwise: Ask, Rules: []Rule{rule(Allow, "*", nil)}}, "allow"},
		{Rules{Rules: []Rule{rule(Allow, "x", nil), rule(Deny, "*", nil)}}, "deny"},
		{Rules{Rules: []Rule{rule(Deny, "other", nil), rule(Deny, "x", path)}}, "allow; deny if path: secret*"},
		{Rules{Rules: []Rule{rule(Ask, "x", nil), rule(Allow, "x", path)}}, "ask"},
		{Rules{Otherwise: Deny, Rules: []Rule{rule(Allow, "x", path), rule(Ask, "x", path)}},
			"deny; ask if path: secret*; allow if path: secret*"},
	} {
		if got := test.rules.About("x"); got != test.want {
			t.Errorf("%+v: %q, want %q", test.rules, got, test.want)
		}
	}
}
