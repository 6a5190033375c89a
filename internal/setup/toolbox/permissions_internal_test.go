package toolbox

import (
	"testing"

	"github.com/massgen/massgen/configs"
	"github.com/massgen/massgen/coordinator"
	"github.com/massgen/massgen/internal/coordination/effect"
	"github.com/massgen/massgen/internal/tools/permission"
)

// TestCommandsThatNothingKeepsInAreAskedAbout, and functions in Python, whatever the config allows; and nobody
// is there to be asked.
func TestCommandsThatNothingKeepsInAreAskedAbout(t *testing.T) {
	rules := permission.Rules{Rules: append([]permission.Rule{{Action: permission.Allow, Tool: "*"}}, unfencedRules()...)}
	if d := permission.Decide(rules, "run_command", `{"command":["ls"]}`); d.Action != permission.Ask {
		t.Errorf("a command: %+v", d)
	}
	if d := permission.Decide(rules, "custom_tool__add", `{}`); d.Action != permission.Ask {
		t.Errorf("a function in Python: %+v", d)
	}
	if d := permission.Decide(rules, "read_file", `{"path":"x"}`); d.Action != permission.Allow {
		t.Errorf("another tool: %+v", d)
	}
	if p, why := permit(rules, nil, "", nil, false)("run_command", `{"command":["ls"]}`); p != effect.Denied || why == "" {
		t.Errorf("with nobody there: %q, %q", p, why)
	}
	if p, _ := permit(rules, nil, permission.Allow, nil, false)("run_command", `{"command":["ls"]}`); p != effect.Allowed {
		t.Errorf("with nobody there, who allows it: %q", p)
	}
}

// TestAWorkerLeavesQuestionsToOthers, also those that nobody at its own terminal could be
// asked.
func TestAWorkerLeavesQuestionsToOthers(t *testing.T) {
	rules := permission.Rules{Otherwise: permission.Ask}
	if p, why := permit(rules, nil, permission.Allow, nil, true)("run_command", "{}"); p != effect.Asked || why == "" {
		t.Errorf("%q, %q", p, why)
	}
}

// movingLook has a file that is a link to another place from the second look on.
type movingLook struct{ looks *int }

func (l movingLook) Path(name string) ([]string, bool) {
	if *l.looks++; *l.looks > 1 {
		return []string{name, "secret"}, false
	}
	return []string{name}, false
}

func (l movingLook) Program(called, _ string) []string { return []string{called} }

// TestEachCallIsDecidedByItself, whatever call was decided before it, and anew where files count.
func TestEachCallIsDecidedByItself(t *testing.T) {
	rules := permission.Rules{Rules: []permission.Rule{{Action: permission.Deny, Tool: "*", Arguments: map[string]string{"path": "secret"}}}}
	decide := decider(rules)
	const open, secret = `{"path":"open"}`, `{"path":"secret"}`
	for i, arguments := range []string{open, secret, secret, open, open, open, secret} {
		if got, want := decide("read_file", arguments), permission.Decide(rules, "read_file", arguments); got != want {
			t.Errorf("decision %d is %v, want %v", i, got, want)
		}
	}
	rules.Look = movingLook{new(int)}
	decide = decider(rules)
	if first, second := decide("read_file", open), decide("read_file", open); first.Action != permission.Allow || second.Action != permission.Deny {
		t.Errorf("a file that moved is %v, and then %v", first, second)
	}
}

// TestQuestionsThatNobodyCanBeAsked are answered as the config says.
func TestQuestionsThatNobodyCanBeAsked(t *testing.T) {
	for unattended, want := range map[permission.Action]bool{"": false, permission.Deny: false, permission.Allow: true} {
		config := &configs.Config{Permissions: configs.Permissions{Unattended: unattended}}
		var opts coordinator.Options
		if err := Permit(&opts, config, nil, false); err != nil || opts.Unattended != want {
			t.Errorf("unattended %q: %v, %v", unattended, opts.Unattended, err)
		}
	}
}
