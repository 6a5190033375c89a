package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/massgen/massgen/sessions"
)

func TestLongSessionCanBeImported(t *testing.T) {
	path := filepath.Join(t.TempDir(), "long.jsonl")
	if err := writeLongSession(t.Context(), path, 100); err != nil {
		t.Fatal(err)
	}
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	store := sessions.NewMemory()
	session, err := store.Import(t.Context(), file, "")
	if err != nil {
		t.Fatal(err)
	}
	if session.Turns != 100 {
		t.Errorf("it has %d turns", session.Turns)
	}
}
