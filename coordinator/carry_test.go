package coordinator

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/massgen/massgen/agents"
	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/debugbackend"
	"github.com/massgen/massgen/internal/coordination/policy"
)

// looks has agent1 measure once in round 1, and in turn 2 beside a vote that is refused.
const looks = `
rules:
  - {when: {agent: agent1, round: 1, index: 0, turn: 1}, reply: {text: "Let me see.", tool_calls: [{id: a, name: gauge, arguments: {of: one}}]}}
  - {when: {agent: agent1, round: 1, index: 0, turn: 2}, reply: {tool_calls: [{id: b, name: gauge, arguments: {of: two}}, {id: c, name: vote, arguments: {}}]}}
  - {when: {round: 1}, reply: {new_answer: "{{.Agent}} on {{.Question}}"}}
  - {when: {}, reply: {vote: {agent: agent2, reason: "it is short"}}}
`

// carrying returns the change of a panel of agents with a tool, of which the first carries its tools.
func carrying(r *debugbackend.Recorder, carry policy.Carry, window int) func(*Options) {
	return func(o *Options) {
		c := agents.Context{Policy: policy.Defaults(), Window: window}
		c.Policy.Carry = carry
		recorded(r, c)(o)
		for i := range o.Agents {
			o.Agents[i].Tools = []agents.Tool{gauge{}}
		}
	}
}

// carriedIn returns the tool calls and results behind the first two messages of an agent's first call in a round.
func carriedIn(t *testing.T, r *debugbackend.Recorder, turn, round int, agent string) (said []string) {
	t.Helper()
	for _, call := range r.Calls() {
		key := call.Request.Key
		if key.Turn != turn || key.Round != round || key.Agent != agent || key.Index != 0 {
			continue
		}
		for _, m := range call.Request.Messages[2:] {
			for _, p := range m.Parts {
				switch p := p.(type) {
				case backends.Text:
					said = append(said, p.Text)
				case backends.ToolCall:
					said = append(said, p.Name+" "+p.Arguments)
				case backends.ToolResult:
					said = append(said, p.Content)
				}
			}
		}
		return said
	}
	t.Fatalf("turn %d, round %d: %s makes no call", turn, round, agent)
	return nil
}

// TestToolsAreCarried: an agent whose context carries tools is shown its calls with their results in later rounds
// and turns, others are not, and the journals give the same inputs.
func TestToolsAreCarried(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		recorder := debugbackend.NewRecorder(debugbackend.Options{})
		p, store := panelOf(t, 3, looks, nil, carrying(recorder, policy.CarryTools, 0))
		for _, question := range weather[:3] {
			wait(t, start(t, p, question))
		}
		one := []string{"Let me see.", `gauge {"of":"one"}`, `measured {"of":"one"}`}
		two := append(slices.Clone(one), `gauge {"of":"two"}`, `measured {"of":"two"}`)
		for _, c := range []struct {
			turn, round int
			want        []string
		}{{1, 1, nil}, {1, 2, one}, {2, 1, one}, {2, 2, two}, {3, 1, two}, {3, 2, two}} {
			if diff := cmp.Diff(c.want, carriedIn(t, recorder, c.turn, c.round, "agent1")); diff != "" {
				t.Errorf("turn %d, round %d (-want +got):\n%s", c.turn, c.round, diff)
			}
			if got := carriedIn(t, recorder, c.turn, c.round, "agent2"); len(got) > 0 {
				t.Errorf("turn %d, round %d: agent2 is shown %q", c.turn, c.round, got)
			}
		}
		rebuilds(t, store, recorder, 3)
	})
}

// TestNothingIsCarriedByDefault: each input is built from scratch (seed 003), and the journal has no word of it.
func TestNothingIsCarriedByDefault(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		recorder := debugbackend.NewRecorder(debugbackend.Options{})
		p, store := panelOf(t, 3, looks, nil, carrying(recorder, policy.CarryNone, 0))
		for n, question := range weather[:2] {
			wait(t, start(t, p, question))
			for round := 1; round <= 2; round++ {
				if got := carriedIn(t, recorder, n+1, round, "agent1"); len(got) > 0 {
					t.Errorf("turn %d, round %d is shown %q", n+1, round, got)
				}
			}
			journal, err := store.Journal(t.Context(), "s", n+1, 0)
			if err != nil || strings.Contains(string(journal[0]), `"carry"`) {
				t.Errorf("turn %d was accepted as %s, %v", n+1, journal[0], err)
			}
		}
	})
}

// TestCarriedToolsAreBounded: of a model with a small window only the newest calls that fit are carried.
func TestCarriedToolsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		recorder := debugbackend.NewRecorder(debugbackend.Options{})
		p, _ := panelOf(t, 3, looks, nil, carrying(recorder, policy.CarryTools, 8*250/3))
		for _, question := range weather[:3] {
			wait(t, start(t, p, question))
		}
		if got := carriedIn(t, recorder, 3, 1, "agent1"); len(got) != 2 || !strings.Contains(got[1], "two") {
			t.Errorf("turn 3 is shown %q", got)
		}
	})
}
