package talk

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/massgen/massgen/cmd/massgen/app/cmdline"
	"github.com/massgen/massgen/cmd/massgen/app/program"
	"github.com/massgen/massgen/internal/storage/store"
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
	for _, line := range lines {
		if err := keepTyped(t.Context(), path, line); err != nil {
			t.Fatal(err)
		}
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

// TestTypedLinesOfAllScreensAreKept: two screens do not overwrite what the other one keeps.
func TestTypedLinesOfAllScreensAreKept(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "typed.jsonl")
	var want []string
	var screens sync.WaitGroup
	for screen := range 4 {
		for i := range 20 {
			want = append(want, fmt.Sprintf("%d of screen %d", i, screen))
		}
		mine := want[len(want)-20:]
		screens.Go(func() {
			for _, line := range mine {
				if err := keepTyped(t.Context(), path, line); err != nil {
					t.Error(err)
				}
			}
		})
	}
	screens.Wait()
	got := readTyped(path)
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("%d lines of %d are kept", len(got), len(want))
	}
}

// TestPastedLinesAreNotKept, nor the same line twice.
func TestPastedLinesAreNotKept(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "typed.jsonl")
	longest := strings.Repeat("\x01", longestTyped)
	for _, line := range []string{longest, longest + "x", "twice", "twice"} {
		if err := keepTyped(t.Context(), path, line); err != nil {
			t.Fatal(err)
		}
	}
	if got := readTyped(path); !slices.Equal(got, []string{longest, "twice"}) {
		t.Errorf("%d lines are kept, want 2", len(got))
	}
}

// TestTypedLinesWaitForNothing: a command that takes minutes does not stop the screen.
func TestTypedLinesWaitForNothing(t *testing.T) {
	t.Parallel()
	p := program.New(cmdline.Env{Stderr: io.Discard, Stdout: io.Discard, Lookup: func(string) (string, bool) { return "", false }})
	f := &fullScreen{d: &dialogue{s: &session{console: p.Console, log: p.Log, term: &terminal{env: p.Env}, store: &store.Store{}}}}
	f.mu.Lock()
	f.typed("a question")
	f.mu.Unlock()
}
