package engine

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/workflow"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/internal/coordination/budget"
	"github.com/massgen/massgen/internal/coordination/effect"
)

// answering is a workflow that has an attempt wait until it has asked so many times again, and
// then lets it be sent with so many tokens less.
type answering struct {
	asks  int
	less  int
	asked int
	// heard has the names of the updates that the workflow received, and ids the IDs of all updates that were sent. Until
	// awayUntil the workflow receives none.
	heard     []string
	ids       map[string]bool
	awayUntil time.Time
}

func (a *answering) Update(_ context.Context, _, _, id, name string, arg, said any) error {
	if a.ids == nil {
		a.ids = map[string]bool{}
	}
	a.ids[id] = true
	if time.Now().Before(a.awayUntil) {
		return errors.New("the server is away")
	}
	a.heard = append(a.heard, name)
	if r, ok := arg.(reservation); ok && r.Asks {
		*said.(*answer) = answer{refused: waitWord}
	}
	return nil
}

func (*answering) Signal(context.Context, string, string, any) error { return errors.New("a signal") }

func (a *answering) Query(ctx context.Context, _, _, name string, _, said any) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if name != permittedQuery {
		return errors.New("another query")
	}
	if a.asked++; a.asked == a.asks {
		*said.(*answer) = answer{less: a.less}
	}
	return nil
}

func grantsOf(a *answering) *grants {
	return &grants{workflows: a, lost: new(atomic.Bool), log: log.NewStructuredLogger(slog.New(slog.DiscardHandler))}
}

// An attempt that waits asks again, ever more seldom, until it may be sent.
func TestAttemptAsksAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, began := &answering{asks: 100, less: 300}, time.Now()
		held, less, err := grantsOf(a).Reserve(t.Context(), backends.Cost{Tokens: 10}, backends.Cost{Tokens: 10})
		if err != nil {
			t.Fatal(err)
		}
		if less != 300 {
			t.Errorf("it has %d tokens less, want 300", less)
		}
		if took := time.Since(began); a.asked != 100 || took < 90*time.Second || took > 100*time.Second {
			t.Errorf("asked %d times in %v", a.asked, took)
		}
		held.Settle(&backends.Usage{InputTokens: 5})
		if want := []string{reserveUpdate, settleUpdate}; !slices.Equal(a.heard, want) {
			t.Errorf("the workflow heard %v, not %v", a.heard, want)
		}
	})
}

// While the server is away, an attempt cannot be booked. The next attempt of the call books it first.
func TestAttemptBooksTheOneBefore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &answering{asks: 1, awayUntil: time.Now().Add(2 * settlePatience)}
		g := grantsOf(a)
		g.Settle(&backends.Usage{InputTokens: 5})
		if _, _, err := g.Reserve(t.Context(), backends.Cost{Tokens: 10}, backends.Cost{Tokens: 10}); err != nil {
			t.Fatal(err)
		}
		if want := []string{settleUpdate, reserveUpdate}; !slices.Equal(a.heard, want) || len(a.ids) != 2 {
			t.Errorf("the workflow heard %v, not %v, of %d updates", a.heard, want, len(a.ids))
		}
	})
}

// Before a retry the worker books the attempt that went before. The last attempt needs no update: its cost is in the
// result.
func TestLastAttemptIsBookedWithTheResult(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &answering{asks: 1}
		g := grantsOf(a)
		g.withResult = true
		g.Settle(&backends.Usage{InputTokens: 5})
		if _, _, err := g.Reserve(t.Context(), backends.Cost{Tokens: 10}, backends.Cost{Tokens: 10}); err != nil {
			t.Fatal(err)
		}
		g.Settle(&backends.Usage{InputTokens: 7})
		if want := []string{settleUpdate, reserveUpdate}; !slices.Equal(a.heard, want) {
			t.Errorf("the workflow heard %v, not %v", a.heard, want)
		}
		if last := g.last(); last == nil || last.Spent.Tokens != 7 || g.last() != nil {
			t.Errorf("with the result goes %+v", last)
		}
	})
}

// One that is cancelled while it waits gives back what it may have been granted meanwhile.
func TestAttemptThatWaitsIsCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &answering{}
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		if _, _, err := grantsOf(a).Reserve(ctx, backends.Cost{Tokens: 10}, backends.Cost{Tokens: 10}); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
		if want := []string{reserveUpdate, settleUpdate}; !slices.Equal(a.heard, want) || a.asked == 0 {
			t.Errorf("the workflow heard %v, not %v, and was asked %d times", a.heard, want, a.asked)
		}
	})
}

// Workers and workflows of older versions say an answer as a text, and know no other.
func TestAnswersOfOlderVersions(t *testing.T) {
	for text, want := range map[string]answer{
		`""`: {}, `"it waits for the budget"`: {refused: waitWord}, `{"less":300}`: {less: 300},
	} {
		var got answer
		if err := json.Unmarshal([]byte(text), &got); err != nil || got != want {
			t.Errorf("%s is read as %+v, %v", text, got, err)
		}
		if data, err := json.Marshal(want); err != nil || string(data) != text {
			t.Errorf("%+v is written as %s, %v", want, data, err)
		}
	}
}

// hearing takes what a workflow answers to an update.
type hearing struct {
	t    *testing.T
	said *any
}

func (hearing) Accept()          {}
func (h hearing) Reject(e error) { h.t.Error(e) }

func (h hearing) Complete(said any, err error) {
	if *h.said = said; err != nil {
		h.t.Error(err)
	}
}

// TestWorkflowShortensTheOutput: of an attempt of which the worker says what it needs at least,
// unless an older version of the program has answered the turn's attempts.
func TestWorkflowShortensTheOutput(t *testing.T) {
	most, least := budget.Amount{Tokens: 9000, Calls: 1}, budget.Amount{Tokens: 1256, Calls: 1}
	for name, c := range map[string]struct {
		least   budget.Amount
		version workflow.Version
		want    answer
	}{
		"now":             {least, 1, answer{less: 4000}},
		"an older worker": {budget.Amount{}, 1, answer{refused: "it does not fit into the budget: it may take 9000 tokens, and 5000 of max_tokens 5000 are left"}},
		"an older turn":   {least, workflow.DefaultVersion, answer{refused: "it does not fit into the budget: it may take 9000 tokens, and 5000 of max_tokens 5000 are left"}},
	} {
		t.Run(name, func(t *testing.T) {
			a := newAsking()
			a.budget = budget.Allowance{Limits: budget.Limits{Tokens: new(5000)}}
			a.slow = func(effect.Key) bool { return true }
			a.OnGetVersion(shortensOutput, workflow.DefaultVersion, workflow.Version(1)).Return(c.version)
			a.OnGetVersion(answersAtOnce, workflow.DefaultVersion, workflow.Version(1)).Return(workflow.Version(1))
			var said any
			key := effect.Key{Round: 1, Purpose: effect.Conversation}
			a.RegisterDelayedCallback(func() {
				a.UpdateWorkflow(reserveUpdate, "reserving", hearing{t, &said}, reservation{Key: key, Most: most, Least: c.least, Asks: true})
			}, 50*time.Millisecond)
			a.RegisterDelayedCallback(func() { a.SignalWorkflow(interruptSignal, toTurn{3}) }, 200*time.Millisecond)
			if err := a.play(); err != nil {
				t.Fatal(err)
			}
			if said != any(c.want) {
				t.Errorf("the workflow says %+v, want %+v", said, c.want)
			}
		})
	}
}
