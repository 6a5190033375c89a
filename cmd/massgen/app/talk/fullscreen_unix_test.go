//go:build unix

package talk

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// TestHistoryIsARegularFile: a pipe in its place, which would never end, is not read or replaced.
func TestHistoryIsARegularFile(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "typed.jsonl")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	pipe, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := pipe.WriteString("\"a line\"\n"); err != nil {
		t.Fatal(err)
	}
	read := make(chan []string)
	go func() { read <- readTyped(path) }()
	select {
	case lines := <-read:
		if len(lines) > 0 {
			t.Errorf("%q is read", lines)
		}
	case <-time.After(10 * time.Second):
		t.Error("the pipe is read")
		defer func() { <-read }()
	}
	if err := keepTyped(t.Context(), path, "a line"); err != nil {
		t.Error(err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().IsRegular() {
		t.Errorf("the pipe is replaced: %v", err)
	}
	if err := pipe.Close(); err != nil {
		t.Error(err)
	}
}
