package toolbox

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/massgen/massgen/agents"
	"github.com/massgen/massgen/internal/tools/workspace"
)

// TestNoSnapshotOfAnotherFolder: what is kept with an answer is the folder that its author
// worked in, and not what its path leads to by now.
func TestNoSnapshotOfAnotherFolder(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "work")
	w, err := workspace.Open(workspace.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	storage, err := workspace.NewSnapshotFolder(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	keep := keepsSnapshots(storage, w, nil)
	of := agents.CallInfo{Session: "s", Turn: 1, Agent: "a", Round: 1}
	taken, err := keep(t.Context(), of)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := workspace.RemoveSnapshot(taken.Dir); err != nil {
			t.Error(err)
		}
	}()
	if err := os.Rename(dir, dir+".old"); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	of.Round = 2
	if taken, err := keep(t.Context(), of); err == nil {
		t.Errorf("%s was taken of another folder", taken.Dir)
	}
}
