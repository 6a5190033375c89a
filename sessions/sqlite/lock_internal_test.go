package sqlite

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/massgen/massgen/sessions"
)

// TestOneHoldsALock has many take a lock and let go of it, whose file comes and
// goes meanwhile.
func TestOneHoldsALock(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "lock")
	var holders, taken atomic.Int32
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for range 2000 {
				lock, err := tryLock(path)
				if err != nil {
					t.Error(err)
				}
				if lock == nil {
					continue
				}
				taken.Add(1)
				if holders.Add(1) != 1 {
					t.Error("two hold the lock")
				}
				runtime.Gosched() // so that another may try meanwhile
				holders.Add(-1)
				if err := lock.release(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
	if taken.Load() == 0 {
		t.Error("nobody ever held the lock")
	}
	if _, err := os.Stat(path); err == nil {
		t.Error("the lock's file stays when nobody holds it")
	}
}

// A turn whose lock file somebody removes takes its lock anew with its next write. If another
// has the session by then, nothing more of the turn is kept.
func TestLockFileThatIsRemoved(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	path := filepath.Join(t.TempDir(), "sessions.db")
	removeLock := func() {
		if err := os.Remove(lockPath(path, "s")); err != nil {
			t.Fatal(err)
		}
	}
	mine, theirs := openFile(t, path), openFile(t, path)
	begun, err := mine.Begin(ctx, "s", "question")
	if err != nil {
		t.Fatal(err)
	}
	removeLock()
	if err := mine.Append(ctx, "s", begun.Turn, []byte("first")); err != nil {
		t.Fatal(err)
	}
	if _, err := theirs.Resume(ctx, "s"); !errors.Is(err, sessions.ErrBusy) {
		t.Fatalf("the session was taken after a write: %v", err)
	}

	removeLock()
	if _, err := theirs.Resume(ctx, "s"); err != nil {
		t.Fatal(err)
	}
	err = mine.Append(ctx, "s", begun.Turn, []byte("second"))
	if want := "the file of its lock was removed"; !errors.Is(err, sessions.ErrBusy) || !strings.Contains(err.Error(), want) {
		t.Fatalf("want %q, got: %v", want, err)
	}
	if err := mine.Leave(ctx, "s", begun.Turn); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(lockPath(path, "s")); err != nil {
		t.Errorf("who had lost the lock took away the file of who has it: %v", err)
	}
}

// A state folder that is removed keeps no turn from its answer.
func TestLockWhoseFolderIsRemoved(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "state")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	lock, err := tryLock(filepath.Join(dir, "lock"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if held, err := lock.keep(); err != nil || !held {
		t.Errorf("%t, %v", held, err)
	}
	if err := lock.release(); err != nil {
		t.Error(err)
	}
}
