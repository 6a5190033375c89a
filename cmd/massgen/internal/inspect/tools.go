package inspect

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/massgen/massgen/agents"
	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/coordinator"
	"github.com/massgen/massgen/internal/coordination/turn"
	"github.com/massgen/massgen/internal/system/blob"
)

// ForwardedTools returns the tools of a turn that its client runs, from the turn's journal. All agents have
// the same ones.
func ForwardedTools(ctx context.Context, r coordinator.Recording, session string, number int) ([]backends.Tool, error) {
	failed := func(err error) ([]backends.Tool, error) {
		return nil, fmt.Errorf("read the tools of turn %d of session %s: %w", number, session, err)
	}
	journal, err := r.Journal(ctx, session, number, 0)
	if err != nil {
		return failed(err)
	}
	if len(journal) == 0 { // a branch has none of the turns before it
		return nil, nil
	}
	first, err := turn.Decode(journal[0])
	if err != nil {
		return failed(err)
	}
	accepted, is := first.(turn.Accepted)
	if !is || len(accepted.Turn.Agents) == 0 || accepted.Turn.Agents[0].Tools == (blob.Ref{}) {
		return nil, nil
	}
	text, err := agents.LookupIn(ctx, r)(accepted.Turn.Agents[0].Tools)
	if err != nil {
		return failed(err)
	}
	var tools []backends.Tool
	if err := json.Unmarshal(text, &tools); err != nil {
		return failed(err)
	}
	return slices.DeleteFunc(tools, func(t backends.Tool) bool { return !t.Forwarded }), nil
}
