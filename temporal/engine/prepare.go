package engine

import (
	"context"
	"slices"

	"go.temporal.io/sdk/activity"

	"github.com/massgen/massgen/internal/coordination/effect"
	"github.com/massgen/massgen/internal/coordination/turn"
	"github.com/massgen/massgen/internal/system/blob"
	"github.com/massgen/massgen/sessions"
)

// begun returns a turn whose agents have their tools, if any, on this worker.
func (h *activities) begun(ctx context.Context, in request, number int, accepted []byte) (begun, error) {
	b := begun{Number: number, Accepted: accepted, Unattended: h.panel.Unattended()}
	ev, err := turn.Decode(accepted)
	if err != nil {
		return b, err
	}
	if first, ok := ev.(turn.Accepted); ok && needsHome(first.Turn.Agents) {
		b.Home = h.home
		h.homed.add(ctx, activity.GetInfo(ctx).WorkflowExecution.ID, held{in.Session, in.Owner, number}, h.as)
	}
	return b, nil
}

// needsHome reports whether agents have tools or files.
func needsHome(agents []effect.Agent) bool {
	return slices.ContainsFunc(agents, func(a effect.Agent) bool { return a.Tools != blob.Ref{} || a.Workspace })
}

// accept writes the first event.
func (h *activities) accept(ctx context.Context, store Store, in request, b sessions.Begun) ([]byte, error) {
	accepted, err := h.panel.Worker(store).Prepare(ctx, in.Session, string(in.Question), b, in.Terms)
	if err != nil {
		return nil, err
	}
	accepted.At = in.At
	data, err := turn.Encode(accepted)
	if err != nil {
		return nil, err
	}
	ctx = sessions.WithMetadata(ctx, in.Session, in.Terms.Metadata)
	if err := store.AppendAt(ctx, in.Session, b.Turn, 0, data); err != nil {
		return nil, err
	}
	journal, err := store.Journal(ctx, in.Session, b.Turn, 0) // another worker may have been faster
	if err != nil {
		return nil, err
	}
	return journal[0], nil
}
