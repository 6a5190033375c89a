package engine

import (
	"context"
	"errors"

	"go.temporal.io/sdk/temporal"

	"github.com/massgen/massgen/agents/machine"
	"github.com/massgen/massgen/backends"
)

// isCut says that an activity's context has ended although nobody has cancelled it: a worker
// ends what it has under way if it does not reach the server for mostCancelDelay, or is told to
// end.
func isCut(ctx context.Context) bool {
	var cancelled *temporal.CanceledError
	return ctx.Err() != nil && !errors.As(context.Cause(ctx), &cancelled)
}

// isCutOff says that an effect was cut before it came to anything. It is done again.
func isCutOff(ctx context.Context, ev machine.Event) bool {
	if !isCut(ctx) {
		return false
	}
	switch ev := ev.(type) {
	case machine.ModelReply:
		return ev.Failure != nil && ev.Failure.Kind == string(backends.KindCancelled)
	case machine.ToolReply:
		return ev.State == machine.ToolCancelled
	}
	return false
}
