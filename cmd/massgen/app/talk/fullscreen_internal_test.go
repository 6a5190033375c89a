package talk

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/massgen/massgen/cmd/massgen/app/archive"
	"github.com/massgen/massgen/cmd/massgen/app/cmdline"
	"github.com/massgen/massgen/cmd/massgen/app/program"
	"github.com/massgen/massgen/internal/storage/store"
	"github.com/massgen/massgen/sessions"
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

// TestSessionsAreListedAndChanged: a session whose only question failed has that question for a title, until a person
// gives it another one, and a deleted session is not listed.
func TestSessionsAreListedAndChanged(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	kept := sessions.NewMemory()
	for _, id := range []string{"s1", "s2"} {
		begun, err := kept.Begin(ctx, id, "Why is the sky blue?\nAnd the sea?")
		if err == nil {
			err = kept.Append(ctx, id, begun.Turn, []byte(`{}`))
		}
		if err == nil {
			err = kept.End(ctx, id, begun.Turn, sessions.Ended{Status: "failed"})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	panel := `{"file":"winds.yaml","folder":"/somewhere"}`
	if err := kept.SetMetadata(ctx, "s1", map[string]string{archive.MetaPanel: panel}); err != nil {
		t.Fatal(err)
	}
	p := program.New(cmdline.Env{Stderr: io.Discard, Stdout: io.Discard, Lookup: func(string) (string, bool) { return "", false }})
	d := &dialogue{s: &session{console: p.Console, log: p.Log, term: &terminal{env: p.Env}, store: &store.Store{Sessions: kept}}}
	d.s.chat.id = "s1"
	f := &fullScreen{d: d}
	titles := func() (list []string) {
		all, _, err := f.sessions(ctx, "")
		if err != nil {
			t.Error(err)
		}
		for _, k := range all {
			list = append(list, fmt.Sprintf("%s %s (%s, %d)", k.ID, k.Title, k.Panel, k.Turns))
		}
		slices.Sort(list)
		return list
	}
	if got, want := titles(), []string{"s1 Why is the sky blue? (winds.yaml, 1)", "s2 Why is the sky blue? (, 1)"}; !slices.Equal(got, want) {
		t.Errorf("listed are %q, want %q", got, want)
	}
	if err := f.rename(ctx, "s2", " Of the sky "); err != nil {
		t.Error(err)
	}
	if err := f.rename(ctx, "s1", " "); err == nil {
		t.Error("a title may be empty")
	}
	if err := d.rename("Of the sea"); err != nil {
		t.Error(err)
	}
	if got, want := titles(), []string{"s1 Of the sea (winds.yaml, 1)", "s2 Of the sky (, 1)"}; !slices.Equal(got, want) {
		t.Errorf("listed are %q, want %q", got, want)
	}
	if err := f.discard(ctx, "s1"); err == nil {
		t.Error("the open session is deleted under a person's hands")
	}
	if err := f.discard(ctx, "s2"); err != nil {
		t.Error(err)
	}
	if got := titles(); len(got) != 1 {
		t.Errorf("listed are %q", got)
	}
	if err := d.empty(ctx); err != nil {
		t.Error(err)
	}
	if _, err := kept.Session(ctx, "s2"); !errors.Is(err, sessions.ErrNoSession) {
		t.Errorf("it is still kept: %v", err)
	}
	d.s.chat.id = "s3"
	if err := d.rename("Of nothing"); !errors.Is(err, errNoTurn) {
		t.Errorf("a session without a turn: %v", err)
	}
}
