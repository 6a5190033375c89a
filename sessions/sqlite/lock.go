package sqlite

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"github.com/gofrs/flock"

	"github.com/massgen/massgen/sessions"
)

// fileLock is a lock that one holds at a time, in any process. It is a lock of the
// operating system on a file, so it is free as soon as its holder is gone. It is
// of the open file and not of the process, so that two Stores of one process
// exclude each other too, and children do not inherit it.
type fileLock struct{ file *flock.Flock }

// tryLock takes a lock, or returns nil if another has it.
func tryLock(path string) (*fileLock, error) {
	for {
		file := flock.New(path)
		if taken, err := file.TryLock(); err != nil || !taken {
			return nil, err
		}
		// Its last holder may have removed the file after it was opened here, and a
		// lock on that is worth nothing.
		mine, err := file.Stat()
		if err != nil {
			return nil, errors.Join(err, file.Unlock())
		}
		there, err := os.Stat(path)
		if err == nil && os.SameFile(mine, there) {
			return &fileLock{file}, nil
		}
		if err := file.Unlock(); err != nil {
			return nil, err
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
}

// release lets go of the lock, and takes its file away.
func (l *fileLock) release() error {
	removed := os.Remove(l.file.Path())
	if err := l.file.Unlock(); err != nil {
		return errors.Join(err, removed)
	}
	// Where an open file cannot be removed, it stays: empty, and of no harm.
	return nil
}

// Whoever looks whether a session is held holds it for a moment, so that Begin
// tries more than once.
const (
	lockTries = 3
	lockPause = 2 * time.Millisecond
)

// hold takes the lock of a session, or returns ErrBusy.
func (h *holds) hold(ctx context.Context, id string) (*fileLock, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	for try := 1; ; try++ {
		lock, err := tryLock(lockPath(h.path, id))
		if err != nil {
			return nil, fault(h.path, "lock a session", err)
		}
		if lock != nil {
			return lock, nil
		}
		if try == lockTries || h.runs(id) {
			return nil, sessions.ErrBusy
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(lockPause):
		}
	}
}

func lockPath(store, id string) string {
	sum := sha256.Sum256([]byte(id))
	return fmt.Sprintf("%s-lock-%s", store, hex.EncodeToString(sum[:8]))
}
