//go:build unix

package store_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/massgen/massgen/internal/models/retry"
	"github.com/massgen/massgen/internal/storage/store"
)

// TestCheckRoom writes beside the file of a store, and leaves nothing there.
func TestCheckRoom(t *testing.T) {
	same := func(text string) string { return text }
	dir := t.TempDir()
	s, err := store.Open(t.Context(), store.In(dir), same)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	before, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.CheckRoom(); err != nil {
		t.Error(err)
	}
	if after, err := os.ReadDir(dir); err != nil || len(after) != len(before) {
		t.Errorf("%d files, then %v, %v", len(before), after, err)
	}
	if err := os.Rename(dir, dir+"-moved"); err != nil {
		t.Fatal(err)
	}
	if err := s.CheckRoom(); err == nil || !strings.Contains(err.Error(), "cannot be written to") {
		t.Errorf("without its folder: %v", err)
	}
	s.Limiter = func(string, retry.Limits) retry.Limiter { return nil }
	if err := s.CheckRoom(); err != nil {
		t.Errorf("where its folder can be made: %v", err)
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("nowhere", dir); err != nil { // root may write anywhere, but not there
		t.Fatal(err)
	}
	if err := s.CheckRoom(); err == nil || !strings.Contains(err.Error(), "cannot be written to") {
		t.Errorf("where its folder cannot be made: %v", err)
	}
	if err := os.Remove(dir); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(filepath.Clean(dir+"-moved"), dir); err != nil {
		t.Fatal(err)
	}
	if err := store.InMemory("", same).CheckRoom(); err != nil {
		t.Errorf("in memory: %v", err)
	}
}
