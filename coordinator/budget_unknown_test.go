package coordinator

import (
	"context"
	"errors"
	"iter"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/internal/coordination/budget"
	"github.com/massgen/massgen/internal/models/retry"
	"github.com/massgen/massgen/sessions"
)

// halfway is a store in which a process has left turn 1 of the session "s" with one call
// finished and one under way.
func halfway(t *testing.T, limits budget.Limits) *sessions.Store {
	t.Helper()
	texts := sessions.NewMemory()
	s := service(rand.New(rand.NewPCG(1, 3)))
	wait(t, start(t, orderlyPanel(t, s, texts, func(o *Options) { o.Budget.Turn = limits }), "energy"))
	journal, err := texts.Journal(t.Context(), "s", 1, 0)
	if err != nil {
		t.Fatal(err)
	}
	for n, data := range journal {
		if _, ok := modelDone(t, data); ok {
			return left(t, journal[:n+1], texts)
		}
	}
	t.Fatal("no call is finished")
	return nil
}

// TestCallsUnderWayOfTurnsWithoutBudgetStaySpent: whether the turn is given up, or another
// question is asked.
func TestCallsUnderWayOfTurnsWithoutBudgetStaySpent(t *testing.T) {
	for _, gives := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			store := halfway(t, budget.Limits{})
			s := service(rand.New(rand.NewPCG(1, 3)))
			p := orderlyPanel(t, s, store, func(o *Options) { o.Budget.Session.Calls = new(4) })
			if gives {
				if _, _, err := p.Abandon(t.Context(), "s"); err != nil {
					t.Fatal(err)
				}
				if kept, err := store.Session(t.Context(), "s"); err != nil || kept.Usage.Calls != 2 || kept.Usage.UnknownCalls != 1 || kept.Usage.CostUSD != nil {
					t.Errorf("the session's usage is %+v, %v", kept.Usage, err)
				}
			}
			if wait(t, start(t, p, "energy")); s.sent != 2 {
				t.Errorf("%d requests after 2 of 4", s.sent)
			}
			turns, err := store.Turns(t.Context(), "s", 0)
			if err != nil {
				t.Fatal(err)
			}
			for _, kept := range turns {
				if _, err := Replay(t.Context(), store, "s", kept); err != nil {
					t.Error(err)
				}
				kept.Usage.OutputTokens++
				var d *Difference
				if _, err := Replay(t.Context(), store, "s", kept); !errors.As(err, &d) || d.Kind != resultDiffers {
					t.Errorf("with another usage turn %d replays with %v", kept.Number, err)
				}
			}
		})
	}
}

// refused asks a session's next question, which its budget must refuse.
func refused(t *testing.T, p *Panel, limit string) {
	t.Helper()
	_, err := p.Start(t.Context(), "s", "energy")
	if err == nil || !strings.Contains(err.Error(), "the usage of session s is not fully known, so "+limit+" cannot be enforced") {
		t.Errorf("error %v", err)
	}
}

func TestLostCallsAreRefusedWhereTheirCostIsLimited(t *testing.T) {
	t.Parallel()
	for limit, limits := range map[string]budget.Limits{"max_usd": usdLimit(1), "max_tokens": {Tokens: new(100_000)}} {
		synctest.Test(t, func(t *testing.T) {
			s := service(rand.New(rand.NewPCG(1, 3)))
			refused(t, orderlyPanel(t, s, halfway(t, budget.Limits{}), func(o *Options) { o.Budget.Session = limits }), limit)
			resumed := orderlyPanel(t, s, halfway(t, budget.Limits{}), func(o *Options) { o.Budget.Turn = limits })
			if _, err := resumed.Resume(t.Context(), "s"); err == nil || !strings.Contains(err.Error(), "so "+limit+" cannot be enforced") {
				t.Errorf("resumed: %v", err)
			}
			if s.sent > 0 {
				t.Errorf("%d requests", s.sent)
			}
			held := orderlyPanel(t, s, halfway(t, budget.Limits{Calls: new(9)}), func(o *Options) { o.Budget.Session = limits })
			if r := wait(t, start(t, held, "energy")); r.Budget.Session.SpentCalls < 5 {
				t.Errorf("what was held counts: %+v", r.Budget.Session)
			}
		})
	}
}

// silent answers as the orderly do, without prices, and tells usage only if it tells.
type silent struct {
	*orderly
	tells bool
}

func (s silent) Stream(ctx context.Context, req backends.Request) iter.Seq2[backends.Event, error] {
	return func(yield func(backends.Event, error) bool) {
		for ev, err := range s.orderly.Stream(ctx, req) {
			if _, ok := ev.(backends.Usage); ok && !s.tells {
				continue
			}
			if _, ok := ev.(backends.Usage); ok {
				ev = backends.Usage{InputTokens: 1}
			}
			if !yield(ev, err) {
				return
			}
		}
	}
}

// TestSessionKnowsWhatItDoesNotKnow: what is unknown of a turn stays so when other limits
// were noted meanwhile.
func TestSessionKnowsWhatItDoesNotKnow(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, limit   string
		first, limits budget.Limits
		killed, tells bool
	}{
		{"no price, calls noted", "max_usd", budget.Limits{Calls: new(100)}, usdLimit(1), false, true},
		{"no price, calls noted, killed", "max_usd", budget.Limits{Calls: new(100)}, usdLimit(1), true, true},
		{"no usage, no limit", "max_tokens", budget.Limits{}, budget.Limits{Tokens: new(100_000)}, false, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				memory := sessions.NewMemory()
				s := service(rand.New(rand.NewPCG(1, 3)))
				var store Store = memory
				if c.killed {
					store = killed{memory}
				}
				panel := func(store Store, limits budget.Limits) *Panel {
					return orderlyPanel(t, s, store, func(o *Options) {
						o.Budget.Session = limits
						for i := range o.Agents {
							o.Agents[i].Backend = retry.New(silent{&orderly{s}, c.tells}, newGate("till", retry.Limits{}), retry.Options{Most: func(req backends.Request) backends.Cost {
								return backends.Cost{Tokens: s.reckon(req).Tokens}
							}})
						}
					})
				}
				wait(t, start(t, panel(store, c.first), "energy"))
				refused(t, orderlyPanel(t, s, memory, func(o *Options) { o.Budget.Session = c.limits }), c.limit)
				wait(t, start(t, panel(memory, budget.Limits{Calls: new(100)}), "energy"))
				refused(t, orderlyPanel(t, s, memory, func(o *Options) { o.Budget.Session = c.limits }), c.limit)
			})
		})
	}
}
