package machine_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/massgen/massgen/internal/coordination/machine"
	"github.com/massgen/massgen/internal/system/blob"
)

// TestChangeReplacesWhatItHas, and leaves what it does not have.
func TestChangeReplacesWhatItHas(t *testing.T) {
	begun := machine.Turn{
		Question: sized(1), Sections: sized(2), Summary: &machine.Summary{Text: sized(3)}, Agents: []machine.Agent{{}},
	}
	summary := &machine.Summary{Text: sized(6)}
	for name, c := range map[string]struct {
		change machine.Change
		want   func(*machine.Turn)
	}{
		"nothing":      {machine.Change{}, func(*machine.Turn) {}},
		"the question": {machine.Change{Question: sized(4)}, func(t *machine.Turn) { t.Question = sized(4) }},
		"the sections": {machine.Change{Sections: sized(5)}, func(t *machine.Turn) { t.Sections = sized(5) }},
		"the summary":  {machine.Change{Summary: summary}, func(t *machine.Turn) { t.Summary = summary }},
	} {
		want := begun
		c.want(&want)
		if diff := cmp.Diff(want, begun.Changed(c.change)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestCallsKeepTheirTools: a call that names a list of tools is sent and read by that, and any
// other by the agent's.
func TestCallsKeepTheirTools(t *testing.T) {
	described := machine.Turn{Agents: []machine.Agent{{Tools: sized(1)}, {Tools: sized(2)}}}
	named, none := sized(3), blob.Ref{}
	for name, c := range map[string]struct {
		tools *blob.Ref
		want  blob.Ref
	}{
		"those of the turn": {nil, sized(2)}, "others": {&named, named}, "none any more": {&none, none},
	} {
		call := machine.ModelCall{Key: machine.Key{Agent: 1}, Tools: c.tools}
		if got := described.ToolsOf(call); got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}
