package prices_test

import (
	"context"
	"errors"
	"iter"
	"testing"

	"github.com/massgen/massgen/backends"
)

// told is a backend that tells its usage in pieces, as some do, and then fails.
type told []backends.Usage

var errAfter = errors.New("after the usage")

func (b told) Stream(context.Context, backends.Request) iter.Seq2[backends.Event, error] {
	return func(yield func(backends.Event, error) bool) {
		for _, u := range b {
			if !yield(u, nil) {
				return
			}
		}
		yield(nil, errAfter)
	}
}

func TestWrapPricesEachUsage(t *testing.T) {
	const million = 1_000_000
	inner := told{{InputTokens: million}, {InputTokens: million, CachedInputTokens: million, OutputTokens: million}}
	for name, c := range map[string]struct {
		provider, model string
		want            []float64 // none is unknown
	}{
		"known":       {"openai", "gpt-4o", []float64{2.5, 11.25}},
		"unknown":     {"openai", "gpt-none", nil},
		"local":       {"llamacpp", "gpt-4o", []float64{0, 0}},
		"of a router": {"chatcompletion", "gpt-4o", nil},
	} {
		var got []*float64
		var failed error
		for ev, err := range table(t, nil).Wrap(c.provider, inner).Stream(t.Context(), backends.Request{Model: c.model}) {
			if err != nil {
				failed = err
				continue
			}
			got = append(got, ev.(backends.Usage).CostUSD)
		}
		if !errors.Is(failed, errAfter) || len(got) != len(inner) {
			t.Fatalf("%s: %d usages, then %v", name, len(got), failed)
		}
		for i, cost := range got {
			if known := c.want != nil; (cost != nil) != known || known && *cost != c.want[i] {
				t.Errorf("%s: cost %d is %v, want %v", name, i, cost, c.want)
			}
		}
	}
}
