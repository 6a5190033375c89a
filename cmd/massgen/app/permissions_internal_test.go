package app

import (
	"strings"
	"testing"

	"github.com/massgen/massgen/agents/machine"
	"github.com/massgen/massgen/agents/permission"
)

// TestCommandsThatNothingKeepsInAreAskedAbout, whatever the config allows; and nobody
// is there to be asked.
func TestCommandsThatNothingKeepsInAreAskedAbout(t *testing.T) {
	rules := permission.Rules{Rules: []permission.Rule{{Action: permission.Allow, Tool: "*"}, askForCommands()}}
	if d := permission.Decide(rules, "run_command", `{"command":["ls"]}`); d.Action != permission.Ask {
		t.Errorf("a command: %+v", d)
	}
	if d := permission.Decide(rules, "read_file", `{"path":"x"}`); d.Action != permission.Allow {
		t.Errorf("another tool: %+v", d)
	}
	s := &session{}
	if p, why := s.permit(rules, "")("run_command", `{"command":["ls"]}`); p != machine.Denied || why == "" {
		t.Errorf("with nobody there: %q, %q", p, why)
	}
	if p, _ := s.permit(rules, permission.Allow)("run_command", `{"command":["ls"]}`); p != machine.Allowed {
		t.Errorf("with nobody there, who allows it: %q", p)
	}
}

// TestLegible has a person see the letters that a tool sees.
func TestLegible(t *testing.T) {
	for arguments, want := range map[string]string{
		`{"b": ["\u0072\u006d", "-\u0072f"], "a": 1.50}`: `{"b": ["rm", "-rf"], "a": 1.50}`,
		`{"path":"a\/b<c>&\n"}`:                          `{"path":"a/b<c>&\n"}`,
		`{"path":`:                                       `{"path":`,
		``:                                               ``,
	} {
		if got := legible(arguments); got != want {
			t.Errorf("legible(%s) is %s", arguments, got)
		}
	}
}

func TestLongArgumentsAreCutInTheMiddle(t *testing.T) {
	if got := middleCut("short", 5); got != "short" {
		t.Errorf("%q", got)
	}
	got := middleCut(strings.Repeat("ä", 500_000)+strings.Repeat("ö", 500_000), 5)
	if want := "ä [... 1,999,996 of 2,000,000 bytes are not shown ...] ö"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
