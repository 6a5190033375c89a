//go:build unix

package workspace

import (
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// makeOddFiles makes files that are none: a pipe, a socket, and a device where the
// user may make one, else a link to one.
func makeOddFiles(t *testing.T, dir string) {
	t.Helper()
	must(t, syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o644))
	// A socket is made under a short path: long ones are refused.
	short, err := os.MkdirTemp("", "s")
	must(t, err)
	t.Cleanup(func() { os.RemoveAll(short) })
	l, err := net.Listen("unix", filepath.Join(short, "s"))
	must(t, err)
	t.Cleanup(func() { l.Close() })
	must(t, os.Rename(filepath.Join(short, "s"), filepath.Join(dir, "socket")))
	if makeDevice(filepath.Join(dir, "device")) != nil {
		must(t, os.Symlink(os.DevNull, filepath.Join(dir, "device")))
	}
}

// TestPipeSwappedWhileItRuns has a file change places with a pipe, which nobody must
// wait for.
func TestPipeSwappedWhileItRuns(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	at := func(name string) string { return filepath.Join(s.Dir(), name) }
	stop := swap(at("file"), at("pipe"), at("aside"))
	for range 1000 {
		s.call("read_file", args{"path": "file"})
	}
	stop()
}

// TestPipeInPlaceOfAFolder has what was listed as a folder be a pipe when it is opened.
func TestPipeInPlaceOfAFolder(t *testing.T) {
	t.Parallel()
	s := newScene(t)
	at := func(name string) string { return filepath.Join(s.Dir(), name) }
	stop := swap(at("dir"), at("pipe"), at("aside"))
	for range 200 {
		s.call("list_files", map[string]any{"depth": 9})
		s.call("search_files", map[string]any{"pattern": "x"})
	}
	stop()
}
