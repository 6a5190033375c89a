package coordinator

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/massgen/massgen/agents"
	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/coordinator/report"
	"github.com/massgen/massgen/internal/coordination/budget"
	"github.com/massgen/massgen/internal/coordination/kernel"
	"github.com/massgen/massgen/internal/models/retry"
	"github.com/massgen/massgen/sessions"
)

// till is a service that counts what it may ask for: what a request that has come to it
// costs at most, until its answer says what it cost.
type till struct {
	random *rand.Rand
	// dollars is what a token costs; bills says what is billed of the most.
	dollars float64
	bills   func(most float64) float64

	mu     sync.Mutex
	billed float64 // in dollars
	most   float64 // of the requests under way
	top    float64 // the most that both were together
	sent   int
	// asked is the limit of each agent's output, and shortened counts the requests that came
	// with a lower one, short the lowest.
	asked     map[string]int
	shortened int
	short     int
}

func (s *till) reckon(req backends.Request) backends.Cost {
	tokens := 0
	for _, m := range req.Messages {
		for _, p := range m.Parts {
			data, err := json.Marshal(p)
			if err != nil {
				panic(err)
			}
			tokens += len(data) / 3
		}
	}
	tokens += *req.Params.MaxTokens
	usd := float64(tokens) * s.dollars
	return backends.Cost{Tokens: tokens, USD: &usd}
}

func (s *till) draw(n int) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.random.IntN(n)
}

// came books a request, and left what became of it.
func (s *till) came(most float64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sent++
	s.most += most
	s.top = max(s.top, s.billed+s.most)
}

// noteLimit books the limit of a request's output.
func (s *till) noteLimit(req backends.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if limit := *req.Params.MaxTokens; limit < s.asked[req.Key.Agent] {
		s.shortened++
		if s.short == 0 || limit < s.short {
			s.short = limit
		}
	}
}

func (s *till) left(most, billed float64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.most -= most
	s.billed += billed
	s.top = max(s.top, s.billed+s.most)
}

// Stream does anything that a service may: answers, votes, calls a tool, says nothing,
// breaks, is slow, refuses.
func (s *till) Stream(ctx context.Context, req backends.Request) iter.Seq2[backends.Event, error] {
	return func(yield func(backends.Event, error) bool) {
		most := *s.reckon(req).USD
		s.came(most)
		s.noteLimit(req)
		select {
		case <-time.After(time.Duration(1+s.draw(5000)) * time.Millisecond):
		case <-ctx.Done():
			s.left(most, most)
			yield(nil, &backends.Error{Kind: backends.KindCancelled, Provider: "till", Err: ctx.Err()})
			return
		}
		cost := s.bills(most)
		switch s.draw(12) {
		case 0:
			s.left(most, 0)
			yield(nil, &backends.Error{Kind: backends.KindOverloaded, Provider: "till", Status: 529})
			return
		case 1: // nobody knows whether it was billed
			s.left(most, most)
			yield(nil, &backends.Error{Kind: backends.KindNetwork, Provider: "till", Message: "reset"})
			return
		case 2:
			s.left(most, most)
			if yield(backends.TextDelta{Text: "half a"}, nil) {
				yield(nil, &backends.Error{Kind: backends.KindNetwork, Provider: "till", Message: "cut", Begun: true})
			}
			return
		case 3: // tells no usage
			s.left(most, most)
			_ = yield(s.act(req), nil) && yield(backends.Finish{Reason: "tool_calls"}, nil)
			return
		}
		s.left(most, cost)
		_ = yield(s.act(req), nil) && yield(backends.Usage{InputTokens: 1, CostUSD: &cost}, nil) && yield(backends.Finish{Reason: "tool_calls"}, nil)
	}
}

func (s *till) act(req backends.Request) backends.Event {
	id := fmt.Sprintf("c%d", s.draw(1<<30))
	switch n := s.draw(6); {
	case n == 0:
		return backends.TextDelta{Text: "let me think"}
	case n <= 2:
		return backends.ToolCall{ID: id, Name: "count", Arguments: "{}"}
	case n == 3 || req.Key.Round == 1:
		return backends.ToolCall{ID: id, Name: "new_answer", Arguments: fmt.Sprintf(`{"content":"answer %s"}`, id)}
	}
	return backends.ToolCall{ID: id, Name: "vote", Arguments: fmt.Sprintf(`{"agent_id":"agent%d","reason":"r"}`, 1+s.draw(16))}
}

// newGate returns a gate that shares its limits with no other.
func newGate(provider string, l retry.Limits) *retry.Gate {
	return retry.NewGate(provider, l, retry.NewLimiter(l))
}

// spendingPanel has n agents with a tool who all call the service.
func spendingPanel(t *testing.T, n int, s *till, store Store, change func(*Options)) *Panel {
	opts := Options{Store: store}
	backend := retry.New(s, newGate("till", retry.Limits{Concurrent: 3}), retry.Options{Most: s.reckon})
	for i := range n {
		tokens, id := 1+s.draw(3000), fmt.Sprintf("agent%d", i+1)
		if s.asked == nil {
			s.asked = map[string]int{}
		}
		s.asked[id] = tokens
		opts.Agents = append(opts.Agents, Agent{
			ID: id, Backend: backend, Model: "m", Params: backends.Params{MaxTokens: &tokens},
			Tools: []agents.Tool{&counter{}},
		})
	}
	change(&opts)
	p, err := New(opts)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func usdLimit(usd float64) budget.Limits {
	limit := budget.Dollars(usd)
	return budget.Limits{USD: &limit}
}

// TestBudgetIsNeverExceeded: whatever the models do, the requests that were sent never
// could have cost more than the budget, if none costs more than it could at most. Some are
// sent with less output than they asked for, to fit into what is left.
func TestBudgetIsNeverExceeded(t *testing.T) {
	t.Parallel()
	var spent, budgets, shortened atomic.Int64
	t.Run("seeds", func(t *testing.T) {
		const parts = 10
		for part := range uint64(parts) {
			t.Run(fmt.Sprint("part ", part), func(t *testing.T) {
				t.Parallel()
				for seed := part; seed < 1000; seed += parts {
					s, status := spendRandomly(t, seed)
					if status == kernel.Budget {
						budgets.Add(1)
					}
					spent.Add(int64(s.sent))
					shortened.Add(int64(s.shortened))
				}
			})
		}
	})
	t.Logf("1000 turns of 16 agents, %d requests of which %d were shortened, %d ended by the budget", spent.Load(), shortened.Load(), budgets.Load())
	if n := budgets.Load(); n == 0 || n == 1000 {
		t.Errorf("%d of 1000 turns were ended by the budget", n)
	}
	if shortened.Load() == 0 {
		t.Error("no request was shortened")
	}
}

// spendRandomly plays a turn with a budget, and returns the service with the requests that
// were sent, and how the turn ended.
func spendRandomly(t *testing.T, seed uint64) (s *till, status kernel.Status) {
	t.Helper()
	const limit = 0.10
	synctest.Test(t, func(t *testing.T) {
		random := rand.New(rand.NewPCG(seed, 0))
		s = &till{random: random, dollars: random.Float64() * 1e-5}
		s.bills = func(most float64) float64 { return most * float64(s.draw(101)) / 100 }
		p := spendingPanel(t, 16, s, sessions.NewMemory(), func(o *Options) { o.Budget.Turn = usdLimit(limit) })
		turn := start(t, p, "energy")
		if s.draw(5) == 0 {
			time.Sleep(time.Duration(s.draw(20)) * time.Second)
			turn.Cancel()
		}
		r := wait(t, turn)
		if s.top > limit+1e-9 {
			t.Fatalf("seed %d: requests were sent that might cost %.6f", seed, s.top)
		}
		if r.Budget == nil || r.Budget.SpentUSD > limit || r.Budget.SpentUSD+1e-9 < s.billed {
			t.Fatalf("seed %d: %.6f were billed, and told are %+v", seed, s.billed, r.Budget)
		}
		if s.shortened > 0 && s.short < 256 {
			t.Fatalf("seed %d: a request was shortened to %d tokens", seed, s.short)
		}
		status = r.Status
	})
	return s, status
}

func TestBestSoFarIsTheResultOfASpentBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls := 4
		s := service(rand.New(rand.NewPCG(1, 1)))
		p := spendingPanel(t, 3, s, sessions.NewMemory(), func(o *Options) {
			o.Budget.Turn = budget.Limits{Calls: &calls}
			o.Agents[0].Backend = retry.New(&orderly{s}, newGate("till", retry.Limits{}), retry.Options{Most: s.reckon})
			o.Agents[1].Backend, o.Agents[2].Backend = o.Agents[0].Backend, o.Agents[0].Backend
		})
		turn := start(t, p, "energy")
		r := wait(t, turn)
		if r.Status != kernel.Budget || r.Answer == "" || s.sent != 4 || r.Budget.SpentCalls != 4 {
			t.Errorf("%d requests, result %+v", s.sent, r)
		}
		if held := eventsOf[report.HeldUp](t, turn); len(held) != 2 || held[0].Why != "0 of max_calls 4 are left" {
			t.Errorf("held up: %+v", held)
		}
	})
}

// service is a till without surprises.
func service(random *rand.Rand) *till {
	return &till{random: random, dollars: 1e-6, bills: func(most float64) float64 { return most }}
}

// orderly answers in round 1 and votes for agent1 afterwards.
type orderly struct{ *till }

func (o *orderly) Stream(_ context.Context, req backends.Request) iter.Seq2[backends.Event, error] {
	return func(yield func(backends.Event, error) bool) {
		most := *o.reckon(req).USD
		o.came(most)
		cost := o.bills(most)
		o.left(most, cost)
		act := backends.ToolCall{ID: "c", Name: "new_answer", Arguments: `{"content":"by ` + req.Key.Agent + `"}`}
		if req.Key.Round > 1 {
			act = backends.ToolCall{ID: "c", Name: "vote", Arguments: `{"agent_id":"agent1","reason":"r"}`}
		}
		_ = yield(act, nil) && yield(backends.Usage{InputTokens: 1, CostUSD: &cost}, nil) && yield(backends.Finish{Reason: "tool_calls"}, nil)
	}
}

func orderlyPanel(t *testing.T, s *till, store Store, change func(*Options)) *Panel {
	return spendingPanel(t, 2, s, store, func(o *Options) {
		for i := range o.Agents {
			o.Agents[i].Backend = retry.New(&orderly{s}, newGate("till", retry.Limits{}), retry.Options{Most: s.reckon})
		}
		change(o)
	})
}

func TestOvershootIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := service(rand.New(rand.NewPCG(1, 2)))
		s.bills = func(most float64) float64 { return 3 * most }
		p := orderlyPanel(t, s, sessions.NewMemory(), func(o *Options) { o.Budget.Turn = usdLimit(1) })
		r := wait(t, start(t, p, "energy"))
		if over := r.Budget.OverUSD; over <= 0 || over > s.billed {
			t.Errorf("over by %v of %v that were billed", over, s.billed)
		}
		if len(r.Warnings) != 1 || !strings.HasPrefix(r.Warnings[0], "calls have cost $0.0") {
			t.Errorf("warnings %q", r.Warnings)
		}
	})
}

// TestSessionsBudgetHoldsOverItsTurns: each turn has what those before it left.
func TestSessionsBudgetHoldsOverItsTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls := 10
		store := sessions.NewMemory()
		s := service(rand.New(rand.NewPCG(1, 3)))
		p := orderlyPanel(t, s, store, func(o *Options) { o.Budget.Session = budget.Limits{Calls: &calls} })
		want := []struct {
			status kernel.Status
			sent   int
		}{{kernel.Completed, 4}, {kernel.Completed, 8}, {kernel.Budget, 10}, {kernel.Budget, 10}}
		for i, w := range want {
			r := wait(t, start(t, p, "energy"))
			if r.Status != w.status || s.sent != w.sent {
				t.Errorf("turn %d: %s after %d requests, want %s after %d", i+1, r.Status, s.sent, w.status, w.sent)
			}
		}
	})
}

// TestSessionsBudgetCountsTurnsWithoutOne: so does each that was run meanwhile without a
// budget, of the turn or the session.
func TestSessionsBudgetCountsTurnsWithoutOne(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		calls := 14
		store := sessions.NewMemory()
		s := service(rand.New(rand.NewPCG(1, 3)))
		limited := orderlyPanel(t, s, store, func(o *Options) { o.Budget.Session = budget.Limits{Calls: &calls} })
		free := orderlyPanel(t, s, store, func(*Options) {})
		want := []struct {
			panel *Panel
			sent  int
		}{{limited, 4}, {free, 8}, {limited, 12}, {limited, 14}, {free, 18}, {limited, 18}}
		for i, w := range want {
			wait(t, start(t, w.panel, "energy"))
			if s.sent != w.sent {
				t.Errorf("turn %d: %d requests, want %d", i+1, s.sent, w.sent)
			}
		}
	})
}

// left is a store in which a process has left a turn with so much of its journal.
func left(t *testing.T, journal [][]byte, texts *sessions.Store) *sessions.Store {
	t.Helper()
	ctx, store := t.Context(), sessions.NewMemory()
	begin(t, store, journal, texts)
	if err := store.Leave(ctx, "s", 1); err != nil {
		t.Fatal(err)
	}
	return store
}

// TestTighterBudgetHoldsForTurnGoneOnWith: also if the turn was begun without one.
func TestTighterBudgetHoldsForTurnGoneOnWith(t *testing.T) {
	t.Parallel()
	for _, before := range []budget.Limits{{}, {Calls: new(100)}} {
		synctest.Test(t, func(t *testing.T) {
			texts := sessions.NewMemory()
			wait(t, start(t, orderlyPanel(t, service(rand.New(rand.NewPCG(1, 3))), texts, func(o *Options) { o.Budget.Turn = before }), "energy"))
			journal, err := texts.Journal(t.Context(), "s", 1, 0)
			if err != nil {
				t.Fatal(err)
			}
			done := 0
			for n := 1; n < len(journal); n++ {
				if _, ok := modelDone(t, journal[n-1]); ok {
					done++
				}
				s := service(rand.New(rand.NewPCG(1, 3)))
				p := orderlyPanel(t, s, left(t, journal[:n], texts), func(o *Options) { o.Budget.Turn.Calls = new(3) })
				turn, err := p.Resume(t.Context(), "s")
				if err != nil {
					t.Fatal(err)
				}
				r := wait(t, turn)
				if s.sent > max(0, 3-done) || r.Budget == nil || *r.Budget.MaxCalls != 3 || r.Budget.SpentCalls < done+s.sent {
					t.Errorf("after %d events with %d calls %d more were sent: %+v", n, done, s.sent, r.Budget)
				}
			}
		})
	}
}

func TestMoneyCannotBeLimitedAfterCallsOfUnknownCost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		texts := sessions.NewMemory()
		s := service(rand.New(rand.NewPCG(1, 3)))
		wait(t, start(t, orderlyPanel(t, s, texts, func(*Options) {}), "energy"))
		journal, err := texts.Journal(t.Context(), "s", 1, 0)
		if err != nil {
			t.Fatal(err)
		}
		p := orderlyPanel(t, s, left(t, journal[:1], texts), func(o *Options) { o.Budget.Turn = usdLimit(1) })
		if _, err := p.Resume(t.Context(), "s"); err == nil || !strings.Contains(err.Error(), "so max_usd cannot be enforced") {
			t.Errorf("error %v", err)
		}
	})
}

// killed is a store to which a process does not come any more once its turn's calls are
// made: the next turn closes that one.
type killed struct{ *sessions.Store }

func (killed) SetMetadata(context.Context, string, map[string]string) error { return nil }

func (k killed) Commit(ctx context.Context, session string, turn int, _ sessions.Ended) error {
	return k.Store.Commit(ctx, session, turn, sessions.Ended{Status: kernel.Cut})
}

func (k killed) End(ctx context.Context, session string, turn int, _ sessions.Ended) error {
	return k.Store.End(ctx, session, turn, sessions.Ended{Status: kernel.Cut})
}

func (k killed) EndWith(ctx context.Context, session string, turn int, _ sessions.Ended, events ...[]byte) error {
	return k.Store.EndWith(ctx, session, turn, sessions.Ended{Status: kernel.Cut}, events...)
}

// TestSessionsBudgetCountsKilledTurns: also where the turns before had no budget.
func TestSessionsBudgetCountsKilledTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls := 10
		store := sessions.NewMemory()
		s := service(rand.New(rand.NewPCG(1, 3)))
		limit := func(o *Options) { o.Budget.Session = budget.Limits{Calls: &calls} }
		wait(t, start(t, orderlyPanel(t, s, store, func(*Options) {}), "energy"))
		wait(t, start(t, orderlyPanel(t, s, killed{store}, limit), "energy"))
		if s.sent != 8 {
			t.Fatalf("%d requests, want 8", s.sent)
		}
		if wait(t, start(t, orderlyPanel(t, s, store, limit), "energy")); s.sent != 10 {
			t.Errorf("%d requests, want 10", s.sent)
		}
	})
}

// TestWhichTurnsASessionsBudgetCounts has turns that had no budget among the session's, and
// those of the session that it was branched off not among a branch's.
func TestWhichTurnsASessionsBudgetCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls := 10
		store := sessions.NewMemory()
		s := service(rand.New(rand.NewPCG(1, 6)))
		limited := orderlyPanel(t, s, store, func(o *Options) { o.Budget.Session = budget.Limits{Calls: &calls} })
		free := orderlyPanel(t, s, store, func(*Options) {})
		for i, p := range []*Panel{limited, free, limited, limited} {
			if r := wait(t, start(t, p, "energy")); (r.Status == kernel.Completed) != (i < 2) || s.sent != []int{4, 8, 10, 10}[i] {
				t.Errorf("turn %d: %s after %d requests", i+1, r.Status, s.sent)
			}
		}
		if _, err := store.Branch(t.Context(), "s", 1, "branch"); err != nil {
			t.Fatal(err)
		}
		branched, err := limited.Start(t.Context(), "branch", "energy")
		if err != nil {
			t.Fatal(err)
		}
		if r := wait(t, branched); r.Status != kernel.Completed || r.Budget.SpentCalls != 4 {
			t.Errorf("the branch's turn: %s, %+v", r.Status, r.Budget)
		}
	})
}

func TestUnknownPriceIsNoPrice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := service(rand.New(rand.NewPCG(1, 4)))
		unpriced := retry.New(&orderly{s}, newGate("till", retry.Limits{}), retry.Options{})
		p := orderlyPanel(t, s, sessions.NewMemory(), func(o *Options) {
			o.Budget.Turn = usdLimit(1)
			o.Agents[0].Backend, o.Agents[1].Backend = unpriced, unpriced
		})
		r := wait(t, start(t, p, "energy"))
		if s.sent != 0 || len(r.Failed) != 2 || !strings.Contains(r.Failed[0].Error, "the model's price is unknown") {
			t.Errorf("%d requests, failed %+v", s.sent, r.Failed)
		}
	})
}

func TestBudgetNeedsBackendsThatKeepToIt(t *testing.T) {
	s := service(rand.New(rand.NewPCG(1, 5)))
	_, err := New(Options{
		Store: sessions.NewMemory(), Agents: []Agent{{ID: "a", Backend: &orderly{s}}}, Budget: budget.Budget{Turn: usdLimit(1)},
	})
	if err == nil || err.Error() != "agent a: its backend does not keep to a budget: wrap it with retry.New" {
		t.Errorf("error %v", err)
	}
}
