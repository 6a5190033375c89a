package workspace

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func snapshotsIn(t *testing.T, dir string) SnapshotFolder {
	t.Helper()
	s, err := NewSnapshotFolder(dir)
	must(t, err)
	return s
}

func TestWhatIsLeftOut(t *testing.T) {
	src, store := live(t)
	state := filepath.Join(src, "state")
	write(t, filepath.Join(state, "sessions.db"), "all that was said", 0o600)
	write(t, filepath.Join(src, "bin/.env"), "KEY=1", 0o600)
	write(t, filepath.Join(src, "own/log"), "mine", 0o600)
	must(t, os.Symlink(state, filepath.Join(filepath.Dir(store), "by-link")))
	o := plenty()
	o.Without = []string{filepath.Join(filepath.Dir(store), "by-link", "sessions.db"), filepath.Join(src, "none")}
	o.LeaveOut = func(name string) string {
		switch {
		case name == "own":
			return "it is the program's"
		case strings.HasSuffix(name, "/.env"):
			return "it is secret"
		}
		return ""
	}
	o.MaxFiles = 5 // what is left out does not count
	s, err := TakeSnapshot(t.Context(), src, filepath.Join(store, "one"), o)
	must(t, err)
	want := []string{"bin/.env: it is secret", "own: it is the program's", "state/sessions.db: it is none of the agent's work"}
	if !slices.Equal(s.LeftOut, want) || s.Files != 2 {
		t.Errorf("%+v", s)
	}
	if got := strings.Join(contents(t, s.Dir), "\n"); strings.Contains(got, "KEY") || strings.Contains(got, "mine") || strings.Contains(got, "said") {
		t.Errorf("the snapshot has\n%s", got)
	}
}

// TestSnapshotWithinItsWorkspace is in a part of it that is left out, and has not itself
// in it.
func TestSnapshotWithinItsWorkspace(t *testing.T) {
	src, _ := live(t)
	store := filepath.Join(src, "state")
	must(t, os.Mkdir(store, 0o755))
	o := plenty()
	o.Without = []string{store}
	s, err := TakeSnapshot(t.Context(), src, filepath.Join(store, "a", "kept"), o)
	must(t, err)
	t.Cleanup(func() { must(t, RemoveSnapshot(store)) })
	if s.Files != 2 || !slices.Equal(s.LeftOut, []string{"state: it is none of the agent's work"}) {
		t.Errorf("%+v", s)
	}
}

func TestManyThatAreLeftOutAreCounted(t *testing.T) {
	t.Parallel()
	src, store := live(t)
	for i := range mostLeftOut + 7 {
		must(t, os.Symlink("none", filepath.Join(src, "link"+strings.Repeat("x", i))))
	}
	s, err := TakeSnapshot(t.Context(), src, filepath.Join(store, "one"), plenty())
	must(t, err)
	if n := len(s.LeftOut); n != mostLeftOut+1 || s.LeftOut[n-1] != "and 7 more" {
		t.Errorf("%d lines, the last is %q", n, s.LeftOut[n-1])
	}
}

// TestStorageInTheWorkspace: a snapshot has neither itself nor those before it.
func TestStorageInTheWorkspace(t *testing.T) {
	src, _ := live(t)
	storage := snapshotsIn(t, filepath.Join(src, "kept"))
	t.Cleanup(func() { must(t, storage.Remove("s")) })
	keeper := storage.Keeper(src, SnapshotOptions{})
	for round := range 3 {
		s, err := keeper.Keep(t.Context(), SnapshotPlace{Session: "s", Turn: 1, Agent: "a", Round: round})
		must(t, err)
		if s.Files != 2 || !slices.Equal(s.LeftOut, []string{"kept: it is none of the agent's work"}) {
			t.Errorf("round %d: %+v", round, s)
		}
	}
}

func TestKeep(t *testing.T) {
	t.Parallel()
	src, store := live(t)
	storage := snapshotsIn(t, store)
	keeper := storage.Keeper(src, SnapshotOptions{})
	at := SnapshotPlace{Session: "s", Turn: 3, Agent: "ada", Round: 2}
	one, err := keeper.Keep(t.Context(), at)
	must(t, err)
	if want := filepath.Join(store, "s", "turn3", "ada.round2"); one.Dir != want || storage.Path(at) != want {
		t.Errorf("it is in %s, want %s", one.Dir, want)
	}
	at.Final = true
	final, err := keeper.Keep(t.Context(), at)
	must(t, err)
	if want := filepath.Join(store, "s", "turn3", "ada.final"); final.Dir != want {
		t.Errorf("the final one is in %s, want %s", final.Dir, want)
	}
	a, err := os.Lstat(filepath.Join(one.Dir, "a.txt"))
	must(t, err)
	if b, err := os.Lstat(filepath.Join(final.Dir, "a.txt")); err != nil || !os.SameFile(a, b) {
		t.Errorf("a file that did not change is copied again: %v", err)
	}
	// A process was killed when it had taken one, and knows of none before.
	write(t, filepath.Join(src, "a.txt"), "changed", 0o644)
	again, err := storage.Keeper(src, SnapshotOptions{}).Keep(t.Context(), at)
	must(t, err)
	if text, err := os.ReadFile(filepath.Join(again.Dir, "a.txt")); err != nil || string(text) != "changed" || again.Dir != final.Dir {
		t.Errorf("taken anew it has %q, %v", text, err)
	}
	if text, err := os.ReadFile(filepath.Join(one.Dir, "a.txt")); err != nil || string(text) != "hello" {
		t.Errorf("the one before has %q, %v", text, err)
	}
	small := storage.Keeper(src, SnapshotOptions{MaxFiles: 1})
	if _, err := small.Keep(t.Context(), SnapshotPlace{Session: "s", Turn: 1, Agent: "a"}); err == nil || !strings.Contains(err.Error(), "more than 1 files") {
		t.Errorf("one that is too large: %v", err)
	}
}

func TestRemoveOfASession(t *testing.T) {
	src, store := live(t)
	storage := snapshotsIn(t, store)
	keeper := storage.Keeper(src, SnapshotOptions{})
	take := func(session string, turn int) string {
		s, err := keeper.Keep(t.Context(), SnapshotPlace{Session: session, Turn: turn, Agent: "a", Round: 1})
		must(t, err)
		return s.Dir
	}
	gone := []string{take("s", 1), take("s", 2), filepath.Join(store, "s", "turn2", ".snapshot-123")}
	must(t, os.Mkdir(gone[2], 0o700))
	stays := []string{take("other", 1), filepath.Join(store, "s", "turn1", "mine.txt"), filepath.Join(store, "s", "notes.round1")}
	write(t, stays[1], "a person's", 0o644)
	must(t, os.Mkdir(stays[2], 0o755))
	must(t, storage.Remove("s"))
	for i, dir := range slices.Concat(gone, stays) {
		if _, err := os.Lstat(dir); (err == nil) != (i >= len(gone)) {
			t.Errorf("%s: %v", dir, err)
		}
	}
	must(t, storage.Remove("other"))
	must(t, storage.Remove("never there"))
	if entries, err := os.ReadDir(store); err != nil || len(entries) != 1 {
		t.Errorf("there are %v, %v", entries, err)
	}
}

// A link in the storage may have come with a project: nothing is kept or removed behind it.
func TestLinksInTheStorage(t *testing.T) {
	src, store := live(t)
	storage := snapshotsIn(t, store)
	elsewhere := t.TempDir()
	theirs := filepath.Join(elsewhere, "turn1", "a.round1")
	must(t, os.MkdirAll(theirs, 0o700))
	must(t, os.MkdirAll(store, 0o700))
	must(t, os.Symlink(elsewhere, filepath.Join(store, "s")))
	_, err := storage.Keeper(src, SnapshotOptions{}).Keep(t.Context(), SnapshotPlace{Session: "s", Turn: 1, Agent: "b", Round: 1})
	if err == nil || !strings.Contains(err.Error(), "a link leads elsewhere") {
		t.Errorf("it is kept: %v", err)
	}
	must(t, storage.Remove("s"))
	if _, err := os.Lstat(theirs); err != nil {
		t.Errorf("it is removed: %v", err)
	}
}

// TestPlacesDiffer: each answer has a folder of its own within the storage, also where
// case is ignored, and its storage is found again by it.
func TestPlacesDiffer(t *testing.T) {
	storage := snapshotsIn(t, t.TempDir())
	rapid.Check(t, func(t *rapid.T) {
		id := rapid.OneOf(rapid.SampledFrom([]string{"a", "A", "a.round1", "", ".", "..", "a/b", `a\b`, "CON", "con", strings.Repeat("x", 300)}), rapid.String())
		draw := func() SnapshotPlace {
			return SnapshotPlace{id.Draw(t, "session"), rapid.IntRange(1, 11).Draw(t, "turn"), id.Draw(t, "agent"), rapid.IntRange(1, 11).Draw(t, "round"), rapid.Bool().Draw(t, "final")}
		}
		a, b := draw(), draw()
		if a.Final {
			a.Round, b.Round = 1, 1 // a turn has one final answer
		}
		dir := storage.Path(a)
		if strings.EqualFold(dir, storage.Path(b)) != (a == b) {
			t.Fatalf("%+v and %+v are in %s and %s", a, b, dir, storage.Path(b))
		}
		rel, err := filepath.Rel(storage.Dir(), dir)
		if err != nil || !filepath.IsLocal(rel) || strings.Count(filepath.ToSlash(rel), "/") != 2 || len(rel) > 220 {
			t.Fatalf("%+v is in %s, %v", a, rel, err)
		}
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		for _, session := range []string{a.Session, b.Session} {
			if storage.Has(session, dir) != (a.Session == session) {
				t.Fatalf("%s is taken for one of %q: %t", dir, session, storage.Has(session, dir))
			}
		}
	})
	var names []string
	for _, id := range []string{"a", "A", "a/b", `a\b`, "a.b", "a_b", "A_B", "", "_", ".", strings.Repeat("x", 64), strings.Repeat("x", 65), strings.Repeat("x", 66)} {
		name := FolderName(id)
		if slices.Contains(names, strings.ToLower(name)) {
			t.Errorf("%q has the name of another, %s", id, name)
		}
		names = append(names, strings.ToLower(name))
	}
}

// TestFoldersThatAreNoSnapshots, whatever a journal says: others, and those that a link leads to.
func TestFoldersThatAreNoSnapshots(t *testing.T) {
	at := t.TempDir()
	storage, err := NewSnapshotFolder(filepath.Join(at, "kept"))
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"kept/s/turn1/a.round1", "kept/s/turn1/a", "kept/s/turnx/a.final", "kept/turn1/a.final", "other/s/turn1/a.final", "kept/r/turn1/a.final"} {
		if err := os.MkdirAll(filepath.Join(at, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, link := range []string{"kept/s/turn1/b.round1", "kept/s/turn2"} {
		if err := os.Symlink(filepath.Join(at, "other/s/turn1"), filepath.Join(at, link)); err != nil {
			t.Fatal(err)
		}
	}
	for dir, want := range map[string]bool{
		"kept/s/turn1/a.round1": true, "kept/s/turn1/a": false, "kept/s/turnx/a.final": false, "kept/turn1/a.final": false,
		"other/s/turn1/a.final": false, "kept/r/turn1/a.final": false, "kept/s/turn1/missing.final": false,
		"kept/s/turn1/b.round1": false, "kept/s/turn2/a.final": false,
	} {
		if storage.Has("s", filepath.Join(at, filepath.FromSlash(dir))) != want {
			t.Errorf("%s is a snapshot of the session: %t, want %t", dir, !want, want)
		}
	}
	for _, dir := range []string{"", "kept/s/turn1/a.round1", storage.Dir() + "/r/../s/turn1/a.round1"} {
		if storage.Has("s", dir) {
			t.Errorf("%s is taken for a snapshot", dir)
		}
	}
}
