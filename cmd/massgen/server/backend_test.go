package server_test

import (
	"context"
	"iter"

	"github.com/massgen/massgen/backends"
)

// holding is a model that answers when its channel is closed.
type holding struct{ until chan struct{} }

// Stream implements backends.Backend.
func (h holding) Stream(ctx context.Context, _ backends.Request) iter.Seq2[backends.Event, error] {
	return func(yield func(backends.Event, error) bool) {
		if !yield(backends.TextDelta{Text: "The "}, nil) {
			return
		}
		select {
		case <-h.until:
		case <-ctx.Done():
			yield(nil, &backends.Error{Kind: backends.KindCancelled, Err: ctx.Err()})
			return
		}
		if yield(backends.TextDelta{Text: "sun."}, nil) && yield(backends.Usage{InputTokens: 2, OutputTokens: 1}, nil) {
			yield(backends.Finish{Reason: "stop"}, nil)
		}
	}
}
