package workspace

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

func TestKeepResult(t *testing.T) {
	dir := t.TempDir()
	keep := func(tool, result string) string {
		t.Helper()
		w, err := Open(Options{Dir: dir})
		if err != nil {
			t.Fatal(err)
		}
		defer closeWorkspace(t, w)
		where, err := w.KeepResult(tool, result)
		if err != nil {
			t.Fatal(err)
		}
		return where
	}
	for i, want := range []string{".massgen/results/read_file-001.txt", ".massgen/results/read_file-002.txt"} {
		result := strings.Repeat("x", i+1)
		if got := keep("read_file", result); got != want {
			t.Errorf("kept in %s, want %s", got, want)
		}
		if kept, err := os.ReadFile(filepath.Join(dir, want)); err != nil || string(kept) != result {
			t.Errorf("%s has %q (%v), want %q", want, kept, err, result)
		}
	}
	if got, want := keep("../a.b/ü"+strings.Repeat("c", 80), "x"), ".massgen/results/___a_b__"+strings.Repeat("c", 56)+"-001.txt"; got != want {
		t.Errorf("kept in %s, want %s", got, want)
	}
}

func TestResultsAreKeptSideBySide(t *testing.T) {
	w, err := Open(Options{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer closeWorkspace(t, w)
	names := make([]string, 8)
	var group sync.WaitGroup
	for i := range names {
		group.Go(func() {
			var err error
			if names[i], err = w.KeepResult("t", "x"); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	seen := map[string]bool{}
	for _, name := range names {
		if seen[name] {
			t.Errorf("%s was given twice", name)
		}
		seen[name] = true
	}
}

// TestResultsAreKeptInTheWorkspace: a link of the agent's leads nowhere else.
func TestResultsAreKeptInTheWorkspace(t *testing.T) {
	dir, elsewhere := t.TempDir(), t.TempDir()
	if err := os.Symlink(elsewhere, filepath.Join(dir, ".massgen")); err != nil {
		t.Fatal(err)
	}
	w, err := Open(Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer closeWorkspace(t, w)
	if where, err := w.KeepResult("t", "x"); err == nil || !strings.Contains(err.Error(), "symbolic link") {
		t.Errorf("kept in %s (%v)", where, err)
	}
}

func closeWorkspace(t *testing.T, w *Workspace) {
	t.Helper()
	if err := w.Close(); err != nil {
		t.Error(err)
	}
}
