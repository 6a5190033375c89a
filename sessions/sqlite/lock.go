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
		l := &fileLock{flock.New(path)}
		if taken, err := l.file.TryLock(); err != nil || !taken {
			return nil, err
		}
		// Its last holder may have removed the file after it was opened here, and a
		// lock on that is worth nothing.
		held, err := l.held()
		if held {
			return l, nil
		}
		if err := errors.Join(err, l.file.Unlock()); err != nil {
			return nil, err
		}
	}
}

// held says that the lock's file is still the one by which others look for it.
func (l *fileLock) held() (bool, error) {
	mine, err := l.file.Stat()
	if err != nil {
		return false, err
	}
	there, err := os.Stat(l.file.Path())
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil && os.SameFile(mine, there), err
}

// keep takes the lock anew if somebody has removed its file, or returns false if another has
// it by now.
func (l *fileLock) keep() (bool, error) {
	held, err := l.held()
	if held || err != nil {
		return held, err
	}
	anew, err := tryLock(l.file.Path())
	switch {
	case errors.Is(err, fs.ErrNotExist): // the folder is gone, and nobody can find the store
		return true, nil
	case err != nil || anew == nil:
		return false, err
	}
	old := l.file
	l.file = anew.file
	return true, old.Unlock()
}

// release lets go of the lock, and takes its file away unless another's is there.
func (l *fileLock) release() error {
	held, removed := l.held()
	if held {
		removed = os.Remove(l.file.Path())
	}
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
