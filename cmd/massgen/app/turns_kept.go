package app

import (
	"context"

	"github.com/massgen/massgen/internal/storage/store"
	"github.com/massgen/massgen/sessions"
)

// lastTurn returns a session's last turn. One that has not ended is either left, by a
// process that is gone, or running.
func lastTurn(ctx context.Context, store *store.Store, id string) (last sessions.Turn, left bool, err error) {
	turns, err := store.Interrupted(ctx, id)
	left = len(turns) > 0
	if err == nil && !left {
		turns, err = store.Turns(ctx, id, 1)
	}
	if err != nil || len(turns) == 0 {
		return sessions.Turn{}, false, err
	}
	return turns[0], left, nil
}
