package engine

import (
	"maps"
	"os"
	"path/filepath"
	"testing"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/coordinator"
	"github.com/massgen/massgen/sessions"
)

// worksIn is a worker whose agents work in folders, in the order of the agents.
func worksIn(t *testing.T, name string, folders ...[]coordinator.Folder) *hands {
	t.Helper()
	opts := coordinator.Options{Store: sessions.NewMemory()}
	for i, list := range folders {
		opts.Agents = append(opts.Agents, coordinator.Agent{ID: string(rune('a' + i)), Backend: struct{ backends.Backend }{}, Folders: list})
	}
	panel, err := coordinator.New(opts)
	if err != nil {
		t.Fatal(err)
	}
	return &hands{panel: panel, home: name}
}

// TestWhoSeesTheFoldersOfAHome: a folder may have another path on another worker, but not
// one of whose files others are told whole paths.
func TestWhoSeesTheFoldersOfAHome(t *testing.T) {
	work, store, seen := t.TempDir(), t.TempDir(), filepath.Join(t.TempDir(), "seen")
	cwd := func(dir string) coordinator.Folder { return coordinator.Folder{Key: "cwd", Dir: dir} }
	storage := func(dir string) coordinator.Folder {
		return coordinator.Folder{Key: "snapshot_storage", Dir: dir, ByPath: true}
	}
	first := worksIn(t, "first", []coordinator.Folder{cwd(work), storage(store)}, nil, []coordinator.Folder{cwd(work)})
	at := first.makeHome(t.Context())
	if err := os.Symlink(work, seen); err != nil {
		t.Fatal(err)
	}
	storeSeen := seen + " store"
	if err := os.Symlink(store, storeSeen); err != nil {
		t.Fatal(err)
	}
	const other, path = "no other one that was asked sees the same folder (", "no other one that was asked sees the same folder at the same path ("
	for name, c := range map[string]struct {
		folders []coordinator.Folder
		lost    map[int]string
		want    map[int]string
	}{
		"the same":              {[]coordinator.Folder{cwd(work), storage(store)}, nil, nil},
		"by another path":       {[]coordinator.Folder{cwd(seen), storage(store)}, nil, nil},
		"another cwd":           {[]coordinator.Folder{cwd(t.TempDir()), storage(store)}, nil, map[int]string{0: other + "cwd)", 2: other + "cwd)"}},
		"another storage":       {[]coordinator.Folder{cwd(work), storage(t.TempDir())}, nil, map[int]string{0: other + "snapshot_storage)"}},
		"another storage path":  {[]coordinator.Folder{cwd(work), storage(storeSeen)}, nil, map[int]string{0: path + "snapshot_storage)"}},
		"what was lost is lost": {[]coordinator.Folder{cwd(work), storage(store)}, map[int]string{1: "it was lost"}, map[int]string{1: "it was lost"}},
	} {
		t.Run(name, func(t *testing.T) {
			second := worksIn(t, "second", c.folders, nil, c.folders[:1])
			got, err := second.adopt(t.Context(), home{Queue: at.Queue, Token: at.Token, Lost: c.lost})
			if err != nil || got.Queue != "second" || !maps.Equal(got.Lost, c.want) {
				t.Errorf("%+v, %v", got, err)
			}
		})
	}
	if err := first.unmark(t.Context(), at.Token); err != nil {
		t.Error(err)
	}
	if got, err := first.adopt(t.Context(), at); err != nil || len(got.Lost) != 2 {
		t.Errorf("when the marks are gone: %+v, %v", got, err)
	}
	for _, dir := range []string{work, store} {
		if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
			t.Errorf("left are %v, %v", left, err)
		}
	}
}
