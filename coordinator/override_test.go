package coordinator

import (
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/massgen/massgen/coordinator/report"
	"github.com/massgen/massgen/internal/coordination/budget"
	"github.com/massgen/massgen/internal/coordination/kernel"
	"github.com/massgen/massgen/sessions"
)

// journalOf plays a turn of two agents, who make four calls if they may, and returns its
// journal, with the store that has its texts.
func journalOf(t *testing.T, limits budget.Budget) ([][]byte, *sessions.Store) {
	t.Helper()
	texts := sessions.NewMemory()
	wait(t, start(t, orderlyPanel(t, service(rand.New(rand.NewPCG(1, 3))), texts, func(o *Options) { o.Budget = limits }), "energy"))
	journal, err := texts.Journal(t.Context(), "s", 1, 0)
	if err != nil {
		t.Fatal(err)
	}
	return journal, texts
}

// TestOverrideReplacesTheLimitsOfATurnGoneOnWith: higher or lower, of the turn or of its
// session, and the spent amount stays spent.
func TestOverrideReplacesTheLimitsOfATurnGoneOnWith(t *testing.T) {
	t.Parallel()
	ofTurn := func(calls int) budget.Budget { return budget.Budget{Turn: budget.Limits{Calls: &calls}} }
	ofSession := func(calls int) budget.Budget { return budget.Budget{Session: budget.Limits{Calls: &calls}} }
	for name, test := range map[string]struct {
		begun, panel, override budget.Budget
		sent                   int // requests, of the four that it needs
		status                 kernel.Status
	}{
		"raised":                         {begun: ofTurn(3), override: ofTurn(6), sent: 4, status: kernel.Completed},
		"raised above the config's":      {begun: ofTurn(3), panel: ofTurn(3), override: ofTurn(6), sent: 4, status: kernel.Completed},
		"lowered":                        {begun: ofTurn(6), override: ofTurn(3), sent: 3, status: kernel.Budget},
		"the session's is raised":        {begun: ofSession(3), override: ofSession(6), sent: 4, status: kernel.Completed},
		"the session's holds beside it":  {begun: ofSession(3), override: ofTurn(6), sent: 3, status: kernel.Budget},
		"the config's cannot raise it":   {begun: ofTurn(3), panel: ofTurn(6), sent: 3, status: kernel.Budget},
		"the session's of the config":    {begun: ofTurn(3), panel: ofSession(3), override: ofTurn(6), sent: 3, status: kernel.Budget},
		"one of another kind is not one": {begun: ofTurn(3), override: budget.Budget{Turn: budget.Limits{Tokens: new(1_000_000)}}, sent: 3, status: kernel.Budget},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				journal, texts := journalOf(t, test.begun)
				done := 0
				for n := 1; ; n++ {
					if _, ok := modelDone(t, journal[n-1]); ok {
						done++
					}
					if done == 2 {
						journal = journal[:n]
						break
					}
				}
				s := service(rand.New(rand.NewPCG(1, 3)))
				p := orderlyPanel(t, s, left(t, journal, texts), func(o *Options) { o.Budget, o.Override = test.panel, test.override })
				turn, err := p.Resume(t.Context(), "s")
				if err != nil {
					t.Fatal(err)
				}
				r := wait(t, turn)
				if r.Status != test.status || s.sent != test.sent-done || r.Budget.SpentCalls != test.sent {
					t.Errorf("%s after %d requests and %d more, want %s after %d; %+v", r.Status, done, s.sent, test.status, test.sent, r.Budget)
				}
			})
		})
	}
}

// TestOverrideGivesARerunMore: a turn that its budget has ended goes on from a round with
// more.
func TestOverrideGivesARerunMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, store := journalOf(t, budget.Budget{Turn: budget.Limits{Calls: new(3)}})
		for calls, want := range map[int]kernel.Status{3: kernel.Budget, 6: kernel.Completed} {
			s := service(rand.New(rand.NewPCG(1, 3)))
			p := orderlyPanel(t, s, store, func(o *Options) { o.Override.Turn.Calls = &calls })
			turn, err := p.Rerun(t.Context(), Point{Session: "s", Turn: 1, Round: 2}, want)
			if err != nil {
				t.Fatal(err)
			}
			if r := wait(t, turn); r.Status != want || r.Budget.SpentCalls > calls {
				t.Errorf("with %d calls: %s, %+v", calls, r.Status, r.Budget)
			}
		}
	})
}

func TestOverrideIsRefusedForARemoteTurn(t *testing.T) {
	s := service(rand.New(rand.NewPCG(1, 3)))
	p := orderlyPanel(t, s, sessions.NewMemory(), func(o *Options) { o.Remote, o.Override.Turn.Calls = &plain{t: t}, new(3) })
	if _, err := p.Resume(t.Context(), "s"); err == nil || !strings.Contains(err.Error(), "cannot be changed: leave the limits out") {
		t.Errorf("error %v", err)
	}
}

func TestSessionsLimitIsNamedWithItsSize(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := sessions.NewMemory()
		s := service(rand.New(rand.NewPCG(1, 3)))
		p := orderlyPanel(t, s, store, func(o *Options) {
			o.Budget = budget.Budget{Turn: budget.Limits{Calls: new(8)}, Session: budget.Limits{Calls: new(5)}}
		})
		wait(t, start(t, p, "energy"))
		turn := start(t, p, "heat")
		r := wait(t, turn)
		held := eventsOf[report.HeldUp](t, turn)
		if len(held) != 1 || held[0].Why != "0 of the session's max_calls 5 are left" {
			t.Errorf("held up: %+v", held)
		}
		b := r.Budget
		if *b.MaxCalls != 8 || b.SpentCalls != 1 || *b.Session.MaxCalls != 5 || b.Session.SpentCalls != 5 || b.Session.MaxUSD != nil {
			t.Errorf("budget %+v, the session's %+v", b, b.Session)
		}
	})
}

// TestMoneyCannotBeLimitedLaterAfterCallsOfUnknownCost: neither if another limit held.
func TestMoneyCannotBeLimitedLaterAfterCallsOfUnknownCost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := service(rand.New(rand.NewPCG(1, 3)))
		journal, texts := journalOf(t, budget.Budget{Turn: budget.Limits{Calls: new(9)}})
		for i, data := range journal {
			journal[i] = []byte(strings.ReplaceAll(string(data), `"cost_usd":`, `"unknown":`))
		}
		p := orderlyPanel(t, s, left(t, journal[:len(journal)-1], texts), func(o *Options) { o.Override.Turn = usdLimit(1) })
		if _, err := p.Resume(t.Context(), "s"); err == nil || !strings.Contains(err.Error(), "so max_usd cannot be enforced") {
			t.Errorf("error %v", err)
		}
	})
}
