package coordinator

import (
	"context"
	"iter"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/coordinator/report"
	"github.com/massgen/massgen/debugbackend"
	"github.com/massgen/massgen/internal/coordination/kernel"
	"github.com/massgen/massgen/internal/models/retry"
)

// TestFallbackAndRetriesAreTold: an agent whose model is overloaded answers and
// votes by another one. Each attempt and change is an event, and the change is a
// warning of the result, also of one that is played again from the journal.
func TestFallbackAndRetriesAreTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		script, err := debugbackend.ParseScript([]byte(agree))
		if err != nil {
			t.Fatal(err)
		}
		busy := backend(func(context.Context, backends.Request) error {
			return &backends.Error{Provider: "busy", Kind: backends.KindOverloaded, Status: 529, Message: "no\x1broom"}
		})
		tried := retry.New(busy, newGate("busy", retry.Limits{}), retry.Options{
			MaxAttempts: 2, Random: func() float64 { return 0.5 },
		})
		saved := retry.NewFallback("busy", tried, retry.Choice{Provider: "spare", Backend: debugbackend.NewScripted(script), Model: "m"})
		p, store := panelOf(t, 3, agree, map[int]backends.Backend{0: saved}, nil)
		turn := start(t, p, "energy")
		r := wait(t, turn)
		if r.Status != kernel.Completed || r.Agents[0].State != kernel.ActVoted || len(r.Failed) > 0 {
			t.Errorf("result %+v", r)
		}
		const want = "2 calls of agent1 went to spare/m, because busy could not be used: busy: overloaded (HTTP 529): no\uFFFDroom (gave up: 2 attempts were made)"
		if !slices.Equal(r.Warnings, []string{want}) {
			t.Errorf("warnings %q, want %q", r.Warnings, want)
		}
		played, _ := replay(t, store, turn.Session(), turn.Number())
		if got := played.Fallbacks(); len(got) != 1 || got[0].Calls != 2 || got[0].To != "spare/m" {
			t.Errorf("played again: %+v", got)
		}
	})
}

func TestRetriesAndFallbacksAreEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		told := backend(func(ctx context.Context, req backends.Request) error {
			err := &backends.Error{Provider: "one", Kind: backends.KindRateLimit, Message: "slow\x1bdown"}
			backends.TraceFrom(ctx).WillRetry(backends.RetryInfo{Key: req.Key, Attempt: 1, Err: err, Wait: time.Second})
			backends.TraceFrom(ctx).FellBack(backends.FallbackInfo{Key: req.Key, From: "one/a", To: "two/b", Err: err})
			return err
		})
		p, _ := panelOf(t, 3, agree, map[int]backends.Backend{1: told}, nil)
		turn := start(t, p, "energy")
		wait(t, turn)
		var got []report.Event
		for ev := range turn.Events(t.Context()) {
			switch ev.(type) {
			case report.Retrying, report.FellBack:
				got = append(got, ev)
			}
		}
		const why = "one: rate limit: slow\uFFFDdown"
		actor := report.Actor{Agent: "agent2", Round: 1}
		want := []report.Event{
			report.Retrying{Actor: actor, Why: why, Wait: time.Second},
			report.FellBack{Actor: actor, Why: why, To: "two/b"},
		}
		if diff := cmp.Diff(want, got, headless()); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

// TestCostIsKnownWhereEachCallsIs: what the service refused to answer cost nothing,
// what broke in the middle cost nobody knows what.
func TestCostIsKnownWhereEachCallsIs(t *testing.T) {
	cost := func(d float64) *float64 { return &d }
	for name, c := range map[string]struct {
		usage *backends.Usage
		err   error
		want  *float64
	}{
		"priced":         {&backends.Usage{InputTokens: 1, CostUSD: cost(0.1)}, nil, cost(0.3)},
		"free":           {&backends.Usage{InputTokens: 1, CostUSD: cost(0)}, nil, cost(0)},
		"no price":       {&backends.Usage{InputTokens: 1}, nil, nil},
		"no usage":       {nil, nil, nil},
		"refused":        {nil, &backends.Error{Kind: backends.KindAuth, Status: 401}, cost(0)},
		"not sent":       {nil, &backends.Error{Kind: backends.KindOverloaded, Free: true}, cost(0)},
		"cut in the end": {nil, &backends.Error{Kind: backends.KindNetwork, Begun: true, Status: 500}, nil},
		"silent":         {nil, &backends.Error{Kind: backends.KindTimeout}, nil},
	} {
		synctest.Test(t, func(t *testing.T) {
			same := replies{text: "the same", usage: c.usage, err: c.err}
			p, _ := panelOf(t, 3, agree, map[int]backends.Backend{0: same, 1: same, 2: same}, nil)
			r := wait(t, start(t, p, "energy"))
			if got := r.Usage.CostUSD; (got == nil) != (c.want == nil) || got != nil && *got != *c.want {
				t.Errorf("%s: usage %+v", name, r.Usage)
			}
			known := 0
			for _, a := range r.Agents {
				if a.Usage.CostUSD != nil {
					known++
				}
			}
			if r.Usage.Calls != 3 || known != 3 && c.want != nil || known > 0 && c.want == nil {
				t.Errorf("%s: the cost of %d agents is known after %d calls", name, known, r.Usage.Calls)
			}
		})
	}
}

// replies answers each call with the same text, or breaks.
type replies struct {
	text  string
	usage *backends.Usage
	err   error
}

func (b replies) Stream(context.Context, backends.Request) iter.Seq2[backends.Event, error] {
	return func(yield func(backends.Event, error) bool) {
		if b.err != nil {
			yield(nil, b.err)
			return
		}
		if b.usage != nil && !yield(*b.usage, nil) {
			return
		}
		call := backends.ToolCall{ID: "a", Name: "new_answer", Arguments: `{"content":"` + b.text + `"}`}
		if yield(call, nil) {
			yield(backends.Finish{Reason: "tool_calls"}, nil)
		}
	}
}
