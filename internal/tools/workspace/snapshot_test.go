package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func write(t *testing.T, file, text string, mode fs.FileMode) {
	t.Helper()
	must(t, os.MkdirAll(filepath.Dir(file), 0o755))
	must(t, os.WriteFile(file, []byte(text), mode))
}

// live returns a workspace, and a folder for snapshots, which are removed in the end.
func live(t *testing.T) (src, store string) {
	t.Helper()
	dir := t.TempDir()
	src, store = filepath.Join(dir, "live"), filepath.Join(dir, "store")
	write(t, filepath.Join(src, "a.txt"), "hello", 0o644)
	write(t, filepath.Join(src, "bin/run.sh"), "#!/bin/sh\n", 0o755)
	write(t, filepath.Join(dir, "outside"), "not for peers", 0o644)
	must(t, os.Mkdir(filepath.Join(src, "empty"), 0o700))
	t.Cleanup(func() { must(t, RemoveSnapshot(store)) })
	return src, store
}

func plenty() SnapshotOptions { return SnapshotOptions{MaxBytes: 1 << 20, MaxFiles: 1000} }

// contents are the files of a tree with mode and text.
func contents(t *testing.T, dir string) []string {
	t.Helper()
	var all []string
	must(t, filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		must(t, err)
		info, err := d.Info()
		must(t, err)
		rel, err := filepath.Rel(dir, name)
		must(t, err)
		what := ""
		switch {
		case d.Type().IsRegular():
			text, err := os.ReadFile(name)
			must(t, err)
			what = string(text)
		case d.Type()&fs.ModeSymlink != 0:
			what, err = os.Readlink(name)
			must(t, err)
			all = append(all, fmt.Sprintf("%s -> %s", filepath.ToSlash(rel), what))
			return nil
		}
		all = append(all, fmt.Sprintf("%v %s %q", info.Mode(), filepath.ToSlash(rel), what))
		return nil
	}))
	return all
}

func TestTake(t *testing.T) {
	src, store := live(t)
	for link, target := range map[string]string{
		"inside": "a.txt", "bin/up": "../a.txt", "folder": "bin", "dangling": "none", "out": "../outside",
		"absolute": filepath.Join(src, "a.txt"), "deep": "bin/../../outside", "self": "self", "twice": "out",
	} {
		must(t, os.Symlink(target, filepath.Join(src, link)))
	}
	pipe(t, filepath.Join(src, "pipe"))
	s, err := TakeSnapshot(t.Context(), src, filepath.Join(store, "one"), plenty())
	must(t, err)
	want := []string{
		`dr-xr-xr-x . ""`, `-r--r--r-- a.txt "hello"`, `dr-xr-xr-x bin ""`, `-r-xr-xr-x bin/run.sh "#!/bin/sh\n"`, "bin/up -> ../a.txt",
		`dr-xr-xr-x empty ""`, "folder -> bin", "inside -> a.txt",
	}
	if got := contents(t, s.Dir); !slices.Equal(got, want) {
		t.Errorf("the snapshot has\n%s", strings.Join(got, "\n"))
	}
	const leads = ": the symbolic link leads outside, or nowhere"
	left := []string{"absolute" + leads, "dangling" + leads, "deep" + leads, "out" + leads, "pipe: it is no file", "self" + leads, "twice" + leads}
	if s.Files != 2 || s.Bytes != 15 || !slices.Equal(s.LeftOut, left) {
		t.Errorf("%+v", s)
	}
	if _, err := TakeSnapshot(t.Context(), src, s.Dir, plenty()); err == nil || !strings.Contains(err.Error(), "is there already") {
		t.Errorf("a second snapshot in the same place gives %v", err)
	}
}

func TestAnEditInPlaceDoesNotReachASnapshot(t *testing.T) {
	t.Parallel()
	src, store := live(t)
	file := filepath.Join(src, "a.txt")
	first, err := TakeSnapshot(t.Context(), src, filepath.Join(store, "one"), plenty())
	must(t, err)
	shared := plenty()
	shared.Previous = first.Dir
	second, err := TakeSnapshot(t.Context(), src, filepath.Join(store, "two"), shared)
	must(t, err)
	must(t, os.WriteFile(file, []byte("HELLO"), 0o644))
	third, err := TakeSnapshot(t.Context(), src, filepath.Join(store, "three"), shared)
	must(t, err)
	for snapshot, want := range map[string]string{first.Dir: "hello", second.Dir: "hello", third.Dir: "HELLO"} {
		if text, err := os.ReadFile(filepath.Join(snapshot, "a.txt")); err != nil || string(text) != want {
			t.Errorf("%s has %q, %v", snapshot, text, err)
		}
	}
	stat := func(name string) fs.FileInfo {
		info, err := os.Lstat(name)
		must(t, err)
		return info
	}
	one := stat(filepath.Join(first.Dir, "a.txt"))
	if !os.SameFile(one, stat(filepath.Join(second.Dir, "a.txt"))) {
		t.Error("snapshots do not share a file that did not change")
	}
	if os.SameFile(one, stat(file)) || os.SameFile(one, stat(filepath.Join(third.Dir, "a.txt"))) {
		t.Error("a snapshot shares a file with the workspace, or one that changed")
	}
}

func TestLimits(t *testing.T) {
	t.Parallel()
	src, store := live(t)
	refused(t, src, store, SnapshotOptions{MaxBytes: 14, MaxFiles: 100}, "it has more than 14 bytes: delete what is not needed")
	refused(t, src, store, SnapshotOptions{MaxBytes: 100, MaxFiles: 3}, "it has more than 3 files: delete what is not needed")
	exactly := SnapshotOptions{MaxBytes: 15, MaxFiles: 4}
	if _, err := TakeSnapshot(t.Context(), src, filepath.Join(store, "exactly"), exactly); err != nil {
		t.Error(err)
	}
	must(t, os.MkdirAll(filepath.Join(src, strings.Repeat("d/", deepest+1)), 0o755))
	refused(t, src, store, plenty(), "more than 100 folders deep")
	must(t, os.RemoveAll(src))
	refused(t, src, store, plenty(), "no such file")
}

// refused takes a snapshot that fails and leaves nothing.
func refused(t *testing.T, src, store string, o SnapshotOptions, want string) {
	t.Helper()
	_, err := TakeSnapshot(t.Context(), src, filepath.Join(store, "refused"), o)
	if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
		t.Errorf("%q: %v", want, err)
	}
	entries, err := os.ReadDir(store)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.Name() != "exactly" {
			t.Errorf("%s was left", e.Name())
		}
	}
}

func TestCancelledSnapshotLeavesNothing(t *testing.T) {
	src, store := live(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := TakeSnapshot(ctx, src, filepath.Join(store, "one"), plenty()); !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled snapshot gives %v", err)
	}
	if entries, err := os.ReadDir(store); err != nil || len(entries) != 0 {
		t.Errorf("there are %v, %v", entries, err)
	}
}
