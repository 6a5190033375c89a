package workspace

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"syscall"
	"testing"
)

// TestWhatCannotBeRead is left out, and costs nobody the snapshot. Root may read all, and
// becomes somebody else here.
func TestWhatCannotBeRead(t *testing.T) {
	src, store := live(t)
	write(t, filepath.Join(src, "locked", "file"), "x", 0o644)
	write(t, filepath.Join(src, "none"), "x", 0)
	must(t, os.Chmod(filepath.Join(src, "locked"), 0))
	must(t, os.Mkdir(store, 0o777))
	must(t, os.Chmod(store, 0o777))
	for _, dir := range []string{filepath.Join(src, "empty"), filepath.Dir(src), filepath.Dir(filepath.Dir(src))} {
		must(t, os.Chmod(dir, 0o755))
	}
	type taken struct {
		Snapshot
		err error
	}
	result := make(chan taken)
	go func() {
		runtime.LockOSThread() // which ends with this
		if os.Geteuid() == 0 {
			if err := syscall.Setfsuid(65534); err != nil {
				t.Error(err)
			}
		}
		s, err := TakeSnapshot(t.Context(), src, filepath.Join(store, "one"), plenty())
		result <- taken{s, err}
	}()
	r := <-result
	must(t, r.err)
	if r.Files != 2 || !slices.Equal(r.LeftOut, []string{"locked: it cannot be read: permission denied", "none: it cannot be read: permission denied"}) {
		t.Errorf("%+v", r.Snapshot)
	}
	must(t, os.Chmod(filepath.Join(src, "locked"), 0o755))
}
