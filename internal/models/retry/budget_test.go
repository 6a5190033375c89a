package retry_test

import (
	"context"
	"iter"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/internal/models/retry"
)

// shortening is a budget that shortens the output of each attempt, by less from one to the
// next, and notes the least that they ask for.
type shortening struct {
	less  []int
	least []int
}

func (s *shortening) Reserve(_ context.Context, most, least backends.Cost) (backends.Reservation, int, error) {
	s.least = append(s.least, least.Tokens-most.Tokens)
	less := s.less[0]
	s.less = s.less[1:]
	return settledAnyhow{}, less, nil
}

type settledAnyhow struct{}

func (settledAnyhow) Release()               {}
func (settledAnyhow) Settle(*backends.Usage) {}

// limits is a backend that notes the limit of the output of what it is sent.
type limits struct {
	*script
	sent []int
}

func (l *limits) Stream(ctx context.Context, req backends.Request) iter.Seq2[backends.Event, error] {
	l.sent = append(l.sent, *req.Params.MaxTokens)
	return l.script.Stream(ctx, req)
}

// TestEachAttemptIsShortenedByTheBudget: one by itself, and what a call asked for stays.
func TestEachAttemptIsShortenedByTheBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		budget := &shortening{less: []int{1000, 200, 0}}
		inner := &limits{script: &script{outcomes: []outcome{failing(backends.KindOverloaded), failing(backends.KindOverloaded), well()}}}
		req := request()
		req.Params.MaxTokens = new(2000)
		b := retry.New(inner, newGate("script", retry.Limits{}), retry.Options{Random: fixed(0)})
		if _, err := backends.Collect(b.Stream(backends.WithBudget(t.Context(), budget), req), nil); err != nil {
			t.Fatal(err)
		}
		if want := []int{1000, 1800, 2000}; !slices.Equal(inner.sent, want) || *req.Params.MaxTokens != 2000 {
			t.Errorf("limits of %v were sent, want %v; the call's is %d now", inner.sent, want, *req.Params.MaxTokens)
		}
		if want := []int{-1744, -1744, -1744}; !slices.Equal(budget.least, want) {
			t.Errorf("the attempts need %v tokens at least, want %v", budget.least, want)
		}
	})
}

// TestHowFarOutputIsShortened: a model that reasons needs room for it, and what has no limit,
// or no more than the least, stays as it is.
func TestHowFarOutputIsShortened(t *testing.T) {
	for name, c := range map[string]struct {
		params backends.Params
		want   int
	}{
		"any":              {backends.Params{MaxTokens: new(8192)}, 256 - 8192},
		"reasoning":        {backends.Params{MaxTokens: new(8192), ReasoningEffort: "low"}, 4096 - 8192},
		"no reasoning":     {backends.Params{MaxTokens: new(8192), ReasoningEffort: "none"}, 256 - 8192},
		"short":            {backends.Params{MaxTokens: new(256)}, 0},
		"short, reasoning": {backends.Params{MaxTokens: new(3000), ReasoningEffort: "low"}, 0},
		"no limit":         {backends.Params{}, 0},
	} {
		budget := &shortening{less: []int{0}}
		req := request()
		req.Params = c.params
		b := retry.New(&script{outcomes: []outcome{well()}}, newGate("script", retry.Limits{}), retry.Options{})
		if _, err := backends.Collect(b.Stream(backends.WithBudget(t.Context(), budget), req), nil); err != nil {
			t.Fatal(err)
		}
		if want := []int{c.want}; !slices.Equal(budget.least, want) {
			t.Errorf("%s: it needs %v, want %v", name, budget.least, want)
		}
	}
}
