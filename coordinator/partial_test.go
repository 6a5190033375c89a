package coordinator

import (
	"context"
	"errors"
	"iter"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/coordinator/report"
	"github.com/massgen/massgen/internal/coordination/effect"
	"github.com/massgen/massgen/internal/coordination/kernel"
	"github.com/massgen/massgen/sessions"
)

// begins is a backend whose model says the beginning of a message and then waits for
// its end, which is what the function says.
type begins func(ctx context.Context) error

func (b begins) Stream(ctx context.Context, req backends.Request) iter.Seq2[backends.Event, error] {
	return func(yield func(backends.Event, error) bool) {
		if yield(backends.TextDelta{Text: "half of " + req.Key.Agent}, nil) {
			yield(nil, b(ctx))
		}
	}
}

// untilCancelled hears that it is cancelled at once.
func untilCancelled(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }

// waits says nothing until then.
func waits(ctx context.Context, _ backends.Request) error { return untilCancelled(ctx) }

func networkFault(context.Context) error {
	return &backends.Error{Kind: backends.KindNetwork, Provider: "p", Message: "the stream was cut", Begun: true}
}

func partialOf(agent, reason string) report.PartialText {
	return report.PartialText{Agent: agent, Round: 1, Purpose: effect.Coordination, Reason: reason, Content: "half of " + agent}
}

// TestPartialTextsAreKeptAndMarked: what had come of cancelled and of cut calls is in the
// result, the events and the journal, and is no answer.
func TestPartialTextsAreKeptAndMarked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, store := panelOf(t, 3, agree, map[int]backends.Backend{
			0: begins(networkFault), 1: begins(untilCancelled), 2: backend(waits),
		}, nil)
		turn := start(t, p, "energy")
		time.Sleep(time.Second)
		turn.Cancel()
		r := wait(t, turn)
		if r.Status != kernel.Cut || r.Winner != "" || r.Answer != "" || len(r.Answers) > 0 {
			t.Errorf("status %s, winner %q, answers %+v", r.Status, r.Winner, r.Answers)
		}
		want := []report.PartialText{partialOf("agent1", "network"), partialOf("agent2", "cancelled")}
		if diff := cmp.Diff(want, r.Partials); diff != "" {
			t.Errorf("in the result (-want +got):\n%s", diff)
		}
		kept, err := ReadRecord(t.Context(), store, "s", 1)
		if diff := cmp.Diff(want, kept.Partials); diff != "" || err != nil {
			t.Errorf("in the journal: %v (-want +got):\n%s", err, diff)
		}
		told := map[string]string{}
		for ev := range turn.Events(t.Context()) {
			switch ev := ev.(type) {
			case report.Failed:
				told[ev.Agent] = ev.Partial
			case report.Cancelled:
				told[ev.Agent] = ev.Partial
			}
		}
		if diff := cmp.Diff(map[string]string{"agent1": "half of agent1", "agent2": "half of agent2", "agent3": ""}, told); diff != "" {
			t.Errorf("in the events (-want +got):\n%s", diff)
		}
		if history, err := store.History(t.Context(), "s"); err != nil || len(history) > 0 {
			t.Errorf("the history has %+v, %v", history, err)
		}
		turns, err := store.Turns(t.Context(), "s", 0)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Replay(t.Context(), store, "s", turns[0]); err != nil {
			t.Error(err)
		}
	})
}

func TestPartialTextIsNoAnswerOfAnAgentAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, _ := panelOf(t, 1, agree, map[int]backends.Backend{0: begins(networkFault)}, nil)
		r := wait(t, start(t, p, "energy"))
		if r.Status != kernel.AllFailed || r.Winner != "" || len(r.Partials) != 1 || r.Partials[0].Content != "half of agent1" || r.Partials[0].Purpose != effect.Conversation {
			t.Errorf("status %s, winner %q, partials %+v", r.Status, r.Winner, r.Partials)
		}
	})
}

// TestEachCallOfAStepKeepsItsPartialText: also where the step goes on after a call that
// failed.
func TestEachCallOfAStepKeepsItsPartialText(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls := 0
		b := begins(func(context.Context) error {
			if calls++; calls == 1 {
				return &backends.Error{Kind: backends.KindBadRequest, Provider: "p", Message: "no tools", NoTools: true}
			}
			return errors.New("broken")
		})
		p, _ := panelOf(t, 2, agree, map[int]backends.Backend{0: b}, func(o *Options) { o.Agents[0].ToolMode = effect.ToolsAuto })
		r := wait(t, start(t, p, "energy"))
		if len(r.Partials) != 2 || r.Partials[0].Reason != "bad_request" || r.Winner != "agent2" {
			t.Errorf("winner %q, partials %+v", r.Winner, r.Partials)
		}
	})
}

// TestLateLostAndCancelledAgentsDiffer: who is not there at the end is told apart by state
// and reason.
func TestLateLostAndCancelledAgentsDiffer(t *testing.T) {
	const (
		late = "its call had not come back when the turn was decided"
		lost = "a call of it ignored its cancellation for 2s and was abandoned"
	)
	heeds := func(*testing.T) backend { return waits }
	ignores := func(t *testing.T) backend {
		release := make(chan struct{})
		t.Cleanup(func() { close(release) })
		return func(context.Context, backends.Request) error { <-release; return errors.New("too late") }
	}
	fails := func(*testing.T) backend {
		return func(context.Context, backends.Request) error {
			return &backends.Error{Kind: backends.KindOverloaded, Provider: "p", Message: "busy"}
		}
	}
	for name, c := range map[string]struct {
		third     func(t *testing.T) backend
		cancelled bool
		limit     time.Duration
		state     kernel.Act
		reason    string
	}{
		"late":               {third: heeds, state: kernel.ActLate, reason: late},
		"late and lost":      {third: ignores, state: kernel.ActLate, reason: late + "; " + lost},
		"cancelled":          {third: heeds, cancelled: true, state: kernel.ActCancelled},
		"cancelled and lost": {third: ignores, cancelled: true, state: kernel.ActCancelled, reason: lost},
		"out of time":        {third: heeds, limit: time.Minute, state: kernel.ActCancelled, reason: "its call had not come back when the turn was ended"},
		"failed":             {third: fails, state: kernel.ActFailed, reason: "p: overloaded: busy"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p, _ := panelOf(t, 3, agree, map[int]backends.Backend{2: c.third(t)}, func(o *Options) {
					o.Rules = kernel.Defaults()
					o.Rules.TurnLimit = c.limit
				})
				turn := start(t, p, "energy")
				if c.cancelled {
					time.Sleep(time.Millisecond)
					turn.Cancel()
				}
				r := wait(t, turn)
				if a := r.Agents[2]; a.State != c.state || a.Error != c.reason {
					t.Errorf("agent3 is %s because %q, want %s because %q", a.State, a.Error, c.state, c.reason)
				}
				if slices.Contains(r.Failed, report.FailedAgent{Agent: "agent3", Error: c.reason}) != (c.reason != "") {
					t.Errorf("failed: %+v", r.Failed)
				}
			})
		})
	}
}

// TestAgentWithoutBudgetDiffers: from one that was cancelled by a person.
func TestAgentWithoutBudgetDiffers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls := 3
		s := service(rand.New(rand.NewPCG(1, 1)))
		p := orderlyPanel(t, s, sessions.NewMemory(), func(o *Options) { o.Budget.Turn.Calls = &calls })
		r := wait(t, start(t, p, "energy"))
		out := slices.DeleteFunc(r.Agents, func(a report.ResultAgent) bool { return a.State != kernel.ActCancelled })
		if r.Status != kernel.Budget || len(out) == 0 || out[0].Error != "the budget left too little for its next call" {
			t.Errorf("status %s, cancelled %+v", r.Status, out)
		}
	})
}
