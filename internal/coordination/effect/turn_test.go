package effect_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/massgen/massgen/internal/coordination/effect"
	"github.com/massgen/massgen/internal/system/blob"
)

// TestChangeReplacesWhatItHas, and leaves what it does not have.
func TestChangeReplacesWhatItHas(t *testing.T) {
	begun := effect.Turn{
		Question: sized(1), Sections: sized(2), Summary: &effect.Summary{Text: sized(3)}, Agents: []effect.Agent{{}},
	}
	summary := &effect.Summary{Text: sized(6)}
	for name, c := range map[string]struct {
		change effect.Change
		want   func(*effect.Turn)
	}{
		"nothing":      {effect.Change{}, func(*effect.Turn) {}},
		"the question": {effect.Change{Question: sized(4)}, func(t *effect.Turn) { t.Question = sized(4) }},
		"the sections": {effect.Change{Sections: sized(5)}, func(t *effect.Turn) { t.Sections = sized(5) }},
		"the summary":  {effect.Change{Summary: summary}, func(t *effect.Turn) { t.Summary = summary }},
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
	described := effect.Turn{Agents: []effect.Agent{{Tools: sized(1)}, {Tools: sized(2)}}}
	named, none := sized(3), blob.Ref{}
	for name, c := range map[string]struct {
		tools *blob.Ref
		want  blob.Ref
	}{
		"those of the turn": {nil, sized(2)}, "others": {&named, named}, "none any more": {&none, none},
	} {
		call := effect.ModelCall{Key: effect.Key{Agent: 1}, Tools: c.tools}
		if got := described.ToolsOf(call); got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}
