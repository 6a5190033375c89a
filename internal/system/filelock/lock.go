// Package filelock has a lock that one holder has at a time, in any process of a machine, and
// replaces files whole.
package filelock

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"time"

	"github.com/gofrs/flock"

	"github.com/massgen/massgen/internal/system/sleep"
)

// Lock is a held lock. The operating system frees it when its holder ends. It belongs to the open file and
// not to the process: two holders in one process exclude each other, and children do not inherit it.
type Lock struct{ file *flock.Flock }

// Try makes the file at path and takes its lock. It returns nil if another holds the lock.
func Try(path string) (*Lock, error) {
	for {
		l := &Lock{flock.New(path)}
		if taken, err := l.file.TryLock(); err != nil || !taken {
			return nil, err
		}
		// Its last holder may have removed the file after it was opened here. A lock on a removed
		// file is worth nothing.
		held, err := l.held()
		if held {
			return l, nil
		}
		if err := errors.Join(err, l.file.Unlock()); err != nil {
			return nil, err
		}
	}
}

// Acquire takes the lock as Try does, but waits for it. It returns the error of ctx when ctx is done.
func Acquire(ctx context.Context, path string) (*Lock, error) {
	const pause = 2 * time.Millisecond
	for {
		if l, err := Try(path); err != nil || l != nil {
			return l, err
		}
		if err := sleep.For(ctx, pause); err != nil {
			return nil, err
		}
	}
}

// held reports whether others still find the lock's file at its path.
func (l *Lock) held() (bool, error) {
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

// Keep takes the lock again if its file was removed. It returns false if another holds the lock by then.
func (l *Lock) Keep() (bool, error) {
	held, err := l.held()
	if held || err != nil {
		return held, err
	}
	anew, err := Try(l.file.Path())
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

// Release frees the lock and removes its file, unless the file is another's.
func (l *Lock) Release() error {
	held, removed := l.held()
	if held {
		removed = os.Remove(l.file.Path())
	}
	if err := l.file.Unlock(); err != nil {
		return errors.Join(err, removed)
	}
	// An open file that cannot be removed stays, empty and harmless.
	return nil
}
