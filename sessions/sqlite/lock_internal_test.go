package sqlite

import (
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
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
