package engine

import (
	"context"
	"errors"
	"testing"

	"go.temporal.io/sdk/temporal"

	"github.com/massgen/massgen/agents/machine"
)

// TestOnlyTheWorkflowCancels: an effect that the server has lost sight of is done again, and
// is none that somebody wanted to end.
func TestOnlyTheWorkflowCancels(t *testing.T) {
	for _, c := range []struct {
		cause  error
		isTold bool
	}{{temporal.NewCanceledError(), true}, {errors.New("namespace not found"), false}, {nil, false}} {
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(c.cause)
		r, err := told(ctx, machine.ToolReply{State: machine.ToolCancelled})
		if (err == nil) != c.isTold || (r.Tool != nil) != c.isTold {
			t.Errorf("cut by %v: %+v, %v", c.cause, r, err)
		}
	}
	if r, err := told(t.Context(), machine.ToolReply{}); err != nil || r.Tool == nil {
		t.Errorf("that was not cut: %+v, %v", r, err)
	}
}
