package turn_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/massgen/massgen/internal/coordination/budget"
	"github.com/massgen/massgen/internal/coordination/effect"
	"github.com/massgen/massgen/internal/coordination/kernel"
	"github.com/massgen/massgen/internal/coordination/turn"
)

// wholeEvents has every field of every event set, so that none can be lost.
var wholeEvents = []turn.Event{
	turn.Accepted{At: 1, Rules: kernel.Config{
		Agents: []string{"ada"}, Pace: "eager", Decision: "majority", MaxRounds: 3, StragglerGrace: 4,
		MaxNewAnswersPerAgent: 5, MaxNewAnswersGlobal: 6, SelfVote: true, FirstRoundLimit: 7, RoundLimit: 8,
		RoundGrace: 9, TurnLimit: 10, Final: "synthesize",
	}, Turn: effect.Turn{
		Session: "s", Turn: 2, Question: ref("q"), History: ref("h"), Conversation: ref("c"),
		Agents: []effect.Agent{{ID: "ada", System: ref("s"), Model: "m", Params: ref("p"), Tools: ref("t")}},
		Limits: effect.Limits{MaxTurns: 1, MaxAttempts: 2, MaxOverlap: 3},
	}},
	turn.ModelDone{At: 2, Key: effect.Key{Agent: 1, Round: 2, Purpose: "coordination", Index: 3}, Reply: effect.ModelReply{
		Message: ref("m"), Text: ref("t"), Hash: "h",
		Calls: []effect.Call{
			{ID: "a", Name: "vote", Target: -1, Reason: "<r>", Problem: "p"},
			{ID: "b", Name: "new_answer", Answer: ref("c"), Hash: "h", Overlaps: []int{0, 7}, Own: true, Target: 2},
		},
		Usage:   &effect.Usage{InputTokens: 1, OutputTokens: 2, CachedInputTokens: 3, ReasoningTokens: 1},
		Failure: &effect.Failure{Kind: "network", Message: "m", Abandoned: true},
	}},
	turn.ModelDone{},
	turn.ToolDone{At: 3, Key: effect.Key{Agent: 1, Round: 2, Purpose: "tool", Index: 3},
		Reply: effect.ToolReply{Index: 3, Result: ref("r"), Error: true, Abandoned: true}},
	turn.ToolsChanged{At: 10, Agent: 1, Tools: ref("t")},
	turn.ToolsChanged{At: 11},
	kernel.Woke{At: 4},
	kernel.Interrupted{At: 5},
	turn.Reserving{At: 6, Key: effect.Key{Agent: 1, Round: 2, Purpose: "coordination", Index: 3}, Most: budget.Amount{USD: 1, Tokens: 2, Calls: 3}, Least: budget.Amount{USD: 1, Tokens: 1, Calls: 3}},
	turn.Settled{At: 7, Key: effect.Key{Agent: 1}, Spent: &budget.Amount{USD: 1, Tokens: 2, Calls: 3}},
	turn.Settled{At: 8},
	turn.Noted{At: 10, Note: ref("n")},
	turn.Noted{At: 10, Note: ref("n"), ID: "note1"},
	turn.Paused{At: 11},
	turn.Unpaused{At: 11},
	kernel.Dismissed{At: 11, Agent: 1},
	turn.Resumed{At: 9, Branched: true, Budget: budget.Allowance{Limits: budget.Limits{Calls: new(1)}, Session: budget.Limits{Tokens: new(2)}, Before: budget.Amount{Tokens: 3}}},
}

func TestEventsReadBackEqual(t *testing.T) {
	for _, ev := range wholeEvents {
		if diff := cmp.Diff(ev, decoded(t, ev)); diff != "" {
			t.Errorf("%T:\n%s", ev, diff)
		}
	}
}

// TestJournalsReadBackEqual: what a turn was played by live and what its journal
// gives back lead to the same state.
func TestJournalsReadBackEqual(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p := playTurn(t, false)
		m := &turn.Machine{}
		for _, ev := range p.journal {
			data, err := turn.Encode(ev)
			if err != nil {
				t.Fatal(err)
			}
			back, err := turn.Decode(data)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := m.Apply(back); err != nil {
				t.Fatal(err)
			}
		}
		if diff := cmp.Diff(state(t, p.m), state(t, m)); diff != "" {
			t.Fatal(diff)
		}
	})
}

func state(t interface{ Fatal(...any) }, m *turn.Machine) string {
	data, err := json.MarshalIndent(m, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestEventsOfTheJournalHaveAFixedForm(t *testing.T) {
	for _, c := range []struct {
		ev   turn.Event
		want string
	}{
		{kernel.Woke{At: 4}, `{"type":"woke","event":{"at":4}}`},
		{kernel.Interrupted{At: 5}, `{"type":"interrupted","event":{"at":5}}`},
		{
			turn.ToolDone{At: 3, Key: effect.Key{Agent: 1, Round: 2, Purpose: "tool"}, Reply: effect.ToolReply{Result: ref("r")}},
			`{"type":"tool_done","event":{"at":3,"key":{"agent":1,"round":2,"purpose":"tool","index":0},"reply":{"index":0,"result":{"sha256":"r","bytes":1}}}}`,
		},
	} {
		got, err := turn.Encode(c.ev)
		if err != nil || string(got) != c.want {
			t.Errorf("%s, %v, want %s", got, err, c.want)
		}
	}
}

func TestWhatIsNoEventIsAnError(t *testing.T) {
	for data, want := range map[string]string{
		`{"type":"budget_spent","event":{"at":1}}`: `type "budget_spent" is unknown`,
		`{"event":{"at":1}}`:                       `type "" is unknown`,
		`{"type":"woke"}`:                          "type woke",
		`{"type":"woke","event":{"at":"1"}}`:       "type woke",
		`{"type":"accepted","event":[]}`:           "type accepted",
		`{"type":"woke","event":{"at":1}`:          "decode an event",
		``:                                         "decode an event",
		`[]`:                                       "decode an event",
	} {
		ev, err := turn.Decode([]byte(data))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, %v, want an error with %q", data, ev, err, want)
		}
	}
}

// TestEventsAreReadInAnySpelling, though Encode has one.
func TestEventsAreReadInAnySpelling(t *testing.T) {
	for _, data := range []string{
		`{"type":"woke","event":{"at":7}}`, `{"event":{"at":7},"type":"woke"}`, "{\n \"type\": \"woke\", \"event\": {\"at\": 7}\n}\n",
	} {
		if ev, err := turn.Decode([]byte(data)); err != nil || ev != (kernel.Woke{At: 7}) {
			t.Errorf("%s is read as %v, %v", data, ev, err)
		}
	}
}

func TestStateOfAnotherVersionIsRefused(t *testing.T) {
	for _, data := range []string{`{"version":2,"state":{}}`, `{"state":{}}`, `{"version":"1"}`, ``} {
		if err := (&turn.Machine{}).UnmarshalJSON([]byte(data)); err == nil {
			t.Errorf("%s was read", data)
		}
	}
}

// FuzzJournal feeds a machine the events that can be read of any bytes, a line
// each: there are errors, and no panics.
func FuzzJournal(f *testing.F) {
	for _, seed := range []int{1, 2, 3, 4} {
		var journal bytes.Buffer
		for _, ev := range rapid.Custom(func(t *rapid.T) []turn.Event { return playTurn(t, false).journal }).Example(seed) {
			data, err := turn.Encode(ev)
			if err != nil {
				f.Fatal(err)
			}
			journal.Write(append(data, '\n'))
		}
		f.Add(journal.Bytes())
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		m := &turn.Machine{}
		for line := range bytes.Lines(data) {
			ev, err := turn.Decode(line)
			if err != nil {
				continue
			}
			if accepted, ok := ev.(turn.Accepted); ok && len(accepted.Rules.Agents) > 50 {
				return // nothing but slow
			}
			if _, err := m.Apply(ev); err != nil {
				return
			}
			m = again(t, m)
		}
	})
}
