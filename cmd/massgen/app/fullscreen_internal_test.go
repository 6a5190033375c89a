package app

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
)

// TestTypedLinesAreKept for the next run, for the user alone, and not without an end.
func TestTypedLinesAreKept(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "massgen", "typed.jsonl")
	if lines := readTyped(path); len(lines) > 0 {
		t.Errorf("%q was typed before", lines)
	}
	var lines []string
	for i := range mostKeptLines + 10 {
		lines = append(lines, "question "+strconv.Itoa(i)+"\nof two lines")
	}
	if err := keepTyped(path, lines); err != nil {
		t.Fatal(err)
	}
	if got := readTyped(path); !slices.Equal(got, lines[10:]) {
		t.Errorf("%d lines are read, the first %q", len(got), got[0])
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("its mode is %v, %v", info.Mode(), err)
	}
	if err := os.WriteFile(path, []byte("\"kept\"\nnonsense\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := readTyped(path); !slices.Equal(got, []string{"kept"}) {
		t.Errorf("of a damaged file %q is read", got)
	}
}
