package sqlite

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"time"

	"github.com/massgen/massgen/internal/system/filelock"
	"github.com/massgen/massgen/internal/system/sleep"
	"github.com/massgen/massgen/sessions"
)

// Whoever looks whether a session is held holds it for a moment, so that Begin
// tries more than once.
const (
	lockTries = 3
	lockPause = 2 * time.Millisecond
)

// hold takes the lock of a session, or returns ErrBusy.
func (h *holds) hold(ctx context.Context, id string) (*filelock.Lock, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	for try := 1; ; try++ {
		lock, err := filelock.Try(lockPath(h.file.path, id))
		if err != nil {
			return nil, fault(h.file.path, "lock a session", err)
		}
		if lock != nil {
			return lock, nil
		}
		if try == lockTries || h.runs(id) {
			return nil, sessions.ErrBusy
		}
		if err := sleep.For(ctx, lockPause); err != nil {
			return nil, err
		}
	}
}

func lockPath(store, id string) string {
	sum := sha256.Sum256([]byte(id))
	return fmt.Sprintf("%s-lock-%s", store, hex.EncodeToString(sum[:8]))
}
