package agents

import (
	"context"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/contextbuild"
	"github.com/massgen/massgen/internal/coordination/effect"
)

// notingFallback returns a context whose trace also records, into in, the model that answered the
// call, if that was not the agent's own.
func notingFallback(ctx context.Context, in **effect.Fallback) context.Context {
	trace := *backends.TraceFrom(ctx)
	outer := trace.Fallback
	trace.Fallback = func(info backends.FallbackInfo) {
		from := info.From
		if *in != nil {
			from = (*in).From + ", " + from
		}
		*in = &effect.Fallback{From: from, To: info.To, Reason: contextbuild.Clean(info.Err.Error())}
		if outer != nil {
			outer(info)
		}
	}
	return backends.WithTrace(ctx, &trace)
}
