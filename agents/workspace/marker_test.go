package workspace

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// TestMarkers: a folder is known by its marker wherever it is seen, and another is not
// taken for it.
func TestMarkers(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "made", "work")
	must(t, Mark(dir, "one"))
	elsewhere := filepath.Join(t.TempDir(), "seen")
	must(t, os.Symlink(dir, elsewhere))
	for place, want := range map[string]string{dir: dir, elsewhere: dir, t.TempDir(): "", filepath.Join(dir, "not there"): ""} {
		if as, err := Marked(place, "one"); as != want || err != nil {
			t.Errorf("%s is marked as %q, %v", place, as, err)
		}
	}
	if as, err := Marked(dir, "two"); as != "" || err != nil {
		t.Errorf("it has the marker of another as well: %q, %v", as, err)
	}
	must(t, Unmark(elsewhere, "one"))
	must(t, Unmark(dir, "one"))
	must(t, Unmark(filepath.Join(dir, "not there"), "one"))
	if left, err := os.ReadDir(dir); len(left) > 0 || err != nil {
		t.Errorf("left are %v, %v", left, err)
	}
}

// TestMarkersAreNotLedElsewhere: what an agent's command has put in the place of a marker is
// neither written through nor read.
func TestMarkersAreNotLedElsewhere(t *testing.T) {
	dir, outside := t.TempDir(), filepath.Join(t.TempDir(), "outside")
	must(t, os.Symlink(outside, filepath.Join(dir, markerPrefix+"one")))
	if err := Mark(dir, "one"); err == nil {
		t.Error("it was marked")
	}
	if _, err := os.Lstat(outside); err == nil {
		t.Error("a marker was written through a link")
	}
	must(t, os.WriteFile(outside, []byte("not its own"), fs.ModePerm))
	if as, err := Marked(dir, "one"); as != "" || err != nil {
		t.Errorf("it is marked as %q, %v", as, err)
	}
}

// TestToolsShowNoMarkers, nor do they stand in the way of one.
func TestToolsShowNoMarkers(t *testing.T) {
	t.Parallel()
	s := open(t, Options{})
	must(t, Mark(s.Dir(), "one"))
	s.is("write_file", args{"path": "a", "content": "made"}, `{"success":true,"path":"a","size":4,"created":true}`)
	s.is("list_files", args{"depth": 2}, `{"success":true,"path":".","entries":[{"path":"a","type":"file","size":4}]}`)
	s.is("search_files", args{"pattern": "."}, `{"success":true,"path":".","matches":[{"path":"a","line":1,"text":"made"}]}`)
}
