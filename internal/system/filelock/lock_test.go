package filelock_test

import (
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/massgen/massgen/internal/system/filelock"
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
				lock, err := filelock.Try(path)
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
				if err := lock.Release(); err != nil {
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

// A state folder that is removed keeps no turn from its answer.
func TestLockWhoseFolderIsRemoved(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "state")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	lock, err := filelock.Try(filepath.Join(dir, "lock"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if held, err := lock.Keep(); err != nil || !held {
		t.Errorf("%t, %v", held, err)
	}
	if err := lock.Release(); err != nil {
		t.Error(err)
	}
}
