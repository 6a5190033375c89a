package engine

import (
	"context"
	"errors"

	"go.temporal.io/sdk/temporal"

	"github.com/massgen/massgen/agents/machine"
	"github.com/massgen/massgen/backends"
)

// isCutOff says that an effect was cut although nobody has cancelled it: a worker that does
// not reach the server, for mostCancelDelay, ends what it has under way. Such an effect has come
// to nothing, and is done again.
func isCutOff(ctx context.Context, ev machine.Event) bool {
	var cancelled *temporal.CanceledError
	if ctx.Err() == nil || errors.As(context.Cause(ctx), &cancelled) {
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
