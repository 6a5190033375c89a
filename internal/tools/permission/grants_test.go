package permission_test

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/massgen/massgen/internal/tools/permission"
)

func opened(t *testing.T, folder string) *permission.Grants {
	t.Helper()
	g, err := permission.OpenGrants(folder)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// TestRuleNamesOneCall: with all its arguments but what an edit writes, and no call that it could
// be taken for another of.
func TestRuleNamesOneCall(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ tool, arguments, rule string }{
		{"run_command", `{"argv":["go","test","./..."]}`, "allow run_command(argv: go test ./...)"},
		{"run_command", `{"argv":["make"],"dir":"sub"}`, "allow run_command(argv: make, dir: sub)"},
		{"edit_file", `{"path":"src/a.go","old_text":"x","new_text":"y"}`, "allow edit_file(path: src/a.go)"},
		{"price", `{"of":{"b":1,"a":"x"},"n":3}`, `allow price(n: 3, of: {"b":1,"a":"x"})`},
		{"price", `{"n":3,"all":true}`, "allow price(all: true, n: 3)"},
		{"say", `{"content":"hello"}`, "allow say(content: hello)"},
		{"run_command", `{"argv":["rm","my file"]}`, ""},
		{"run_command", `{"argv":["rm","*.o"]}`, ""},
		{"run_command", `{"argv":["echo",""]}`, ""},
		{"run_command", `{"argv":["sh","-c","` + strings.Repeat("x", 400) + `"]}`, ""},
		{"now", `{}`, ""},
		{"now", ``, ""},
		{"now", `{"a":1,"a":2}`, ""},
		{"now", `[`, ""},
	} {
		rule, ok := permission.RuleFor(c.tool, c.arguments)
		if ok != (c.rule != "") || ok && rule.String() != c.rule {
			t.Errorf("%s %s: %t, %s, want %q", c.tool, c.arguments, ok, rule, c.rule)
		}
	}
}

// TestKeptRuleIsObeyed by this process and the next one, and taken back. Only the user can read
// the file.
func TestKeptRuleIsObeyed(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "massgen")
	const call = `{"argv":["go","test","./..."]}`
	rule, _ := permission.RuleFor("run_command", call)
	g := opened(t, folder)
	if _, ok := g.Allow("run_command", call); ok {
		t.Error("the call is allowed before the rule is kept")
	}
	for range 2 {
		if err := g.Keep(rule); err != nil {
			t.Fatal(err)
		}
	}
	for _, g := range []*permission.Grants{g, opened(t, folder)} {
		why, ok := g.Allow("run_command", call)
		if want := "rule 1 of permissions.yaml: allow run_command(argv: go test ./...)"; !ok || why != want {
			t.Errorf("the call: %t, %q", ok, why)
		}
		for _, other := range []string{`{"argv":["go","build"]}`, `{"argv":["go","test ./..."]}`, `{"argv":["go","test","./..."],"dir":"sub"}`} {
			if _, ok := g.Allow("run_command", other); ok {
				t.Errorf("%s is allowed", other)
			}
		}
		if n := len(g.List()); n != 1 {
			t.Errorf("%d rules", n)
		}
	}
	info, err := os.Stat(filepath.Join(folder, permission.GrantsFile))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file: %v, %v", info, err)
	}
	files, err := os.ReadDir(folder)
	if err != nil || len(files) != 1 {
		t.Errorf("the folder has %v, %v", files, err)
	}
	if _, err := g.Remove(2); err == nil {
		t.Error("a rule was removed that is not there")
	}
	if removed, err := g.Remove(1); err != nil || removed.String() != rule.String() {
		t.Errorf("removed %s, %v", removed, err)
	}
	if _, ok := opened(t, folder).Allow("run_command", call); ok {
		t.Error("the removed rule is obeyed")
	}
}

// TestPatternsOfAPerson are those of a config.
func TestPatternsOfAPerson(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	text := "rules:\n  - {action: allow, tool: run_command, arguments: {argv: \"git log *\"}}\n  - {action: allow, tool: \"read_*\"}\n"
	if err := os.WriteFile(filepath.Join(folder, permission.GrantsFile), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	g := opened(t, folder)
	for _, c := range []struct {
		tool, arguments string
		want            bool
	}{
		{"run_command", `{"argv":["git","log","-p"]}`, true},
		{"run_command", `{"argv":["git","push"]}`, false},
		{"read_file", `{"path":"x"}`, true},
		{"write_file", `{"path":"x"}`, false},
	} {
		if _, ok := g.Allow(c.tool, c.arguments); ok != c.want {
			t.Errorf("%s %s: %t", c.tool, c.arguments, ok)
		}
	}
}

// TestSessionGrantEndsWithTheProgram and is about a tool, or about one program.
func TestSessionGrantEndsWithTheProgram(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	g := opened(t, folder)
	g.AllowHere(permission.KindOf("run_command", `{"argv":["go","test"]}`))
	if why, ok := g.Allow("run_command", `{"argv":["go","build"]}`); !ok || why != "allowed in this session: run_command go" {
		t.Errorf("%q, %t", why, ok)
	}
	if _, ok := g.Allow("run_command", `{"argv":["rm"]}`); ok {
		t.Error("another program is allowed")
	}
	if _, ok := opened(t, folder).Allow("run_command", `{"argv":["go","build"]}`); ok {
		t.Error("the next program allows it")
	}
	if _, ok := (*permission.Grants)(nil).Allow("run_command", "{}"); ok {
		t.Error("nobody allows it")
	}
}

// TestDamagedFileIsLeftAlone, and grants nothing.
func TestDamagedFileIsLeftAlone(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"rules[0] has the action deny": "rules: [{action: deny, tool: x}]",
		"names no tool":                "rules: [{action: allow}]",
		"field tols not found":         "rules: [{action: allow, tols: x}]",
		"mapping values":               "rules: x: y",
	} {
		folder := t.TempDir()
		file := filepath.Join(folder, permission.GrantsFile)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		g, err := permission.OpenGrants(folder)
		if err == nil || !strings.Contains(err.Error(), name) || !strings.Contains(err.Error(), file) {
			t.Errorf("%s: %v", text, err)
		}
		if err := g.Keep(permission.Rule{Action: permission.Allow, Tool: "x"}); err == nil {
			t.Errorf("%s: a rule was kept", text)
		}
		if data, err := os.ReadFile(file); err != nil || string(data) != text {
			t.Errorf("the file is %q now, %v", data, err)
		}
	}
}

// TestManyKeepAtOnce in one program, and in several: no rule is lost.
func TestManyKeepAtOnce(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	programs := []*permission.Grants{opened(t, folder), opened(t, folder), opened(t, folder)}
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			if err := programs[i%3].Keep(permission.Rule{Action: permission.Allow, Tool: string(rune('a' + i))}); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if n := len(opened(t, folder).List()); n != 20 {
		t.Errorf("%d rules of 20", n)
	}
}

// TestGrantIsForItsCall alone: the texts of two rules may be equal.
func TestGrantIsForItsCall(t *testing.T) {
	kept, _ := permission.RuleFor("run_command", `{"argv":["rm","-r","build"],"dir":"sub"}`)
	other, _ := permission.RuleFor("run_command", `{"argv":["rm","-r","build,","dir:","sub"]}`)
	if kept.String() != other.String() {
		t.Fatalf("%s and %s are told apart by their texts: take others", kept, other)
	}
	g, err := permission.OpenGrants(t.TempDir())
	if err == nil {
		err = g.Keep(kept)
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := g.Allow("run_command", `{"argv":["rm","-r","build"],"dir":"sub"}`); !ok {
		t.Error("the call that was allowed is asked about")
	}
	if why, ok := g.Allow("run_command", `{"argv":["rm","-r","build,","dir:","sub"]}`); ok {
		t.Error(why)
	}
}
