package engine

import (
	"context"
	"errors"
	"testing"

	"go.temporal.io/sdk/temporal"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/internal/coordination/effect"
)

// TestCutOffIsNotCancelled: an effect that the server has lost sight of is done again, unless
// it has come to a result in spite of its cut, and is none that somebody wanted to end.
func TestCutOffIsNotCancelled(t *testing.T) {
	cut := effect.ModelReply{Failure: &effect.Failure{Kind: string(backends.KindCancelled)}}
	cutTool := effect.ToolReply{State: effect.ToolCancelled}
	unreachable := errors.New("no heartbeat comes through")
	for name, c := range map[string]struct {
		cause error
		ev    effect.Reply
		again bool
	}{
		"it goes on":           {nil, cut, false},
		"a call is cancelled":  {temporal.NewCanceledError(), cut, false},
		"a tool is cancelled":  {temporal.NewCanceledError(), cutTool, false},
		"a call is cut off":    {unreachable, cut, true},
		"a tool is cut off":    {unreachable, cutTool, true},
		"no cause is named":    {context.Canceled, cutTool, true},
		"a reply came first":   {unreachable, effect.ModelReply{Hash: "h"}, false},
		"a failure came first": {unreachable, effect.ModelReply{Failure: &effect.Failure{Kind: "auth"}}, false},
		"a result came first":  {unreachable, effect.ToolReply{}, false},
		"nothing is cut":       {nil, effect.ToolReply{}, false},
	} {
		ctx, cancel := context.WithCancelCause(t.Context())
		if c.cause != nil {
			cancel(c.cause)
		}
		r, err := told(ctx, c.ev, true)
		if done := r.Model != nil || r.Tool != nil; done == c.again || (err != nil) != c.again {
			t.Errorf("%s: %+v, %v", name, r, err)
		}
		cancel(nil)
	}
}
