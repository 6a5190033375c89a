package workspace

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// apart refuses a folder in the tree, which would be copied into itself, unless it is in a part that
// is left out. The folder need not exist yet.
func apart(tree *os.Root, folder string, without []fs.FileInfo) error {
	top, err := tree.Stat(".")
	if err != nil {
		return err
	}
	at, err := existing(folder)
	if err != nil {
		return err
	}
	for {
		info, err := os.Stat(at)
		switch {
		case err != nil:
			return err
		case os.SameFile(info, top):
			return fmt.Errorf("the place for it, %s, is in the workspace itself: take another", folder)
		case filepath.Dir(at) == at, slices.ContainsFunc(without, func(other fs.FileInfo) bool { return os.SameFile(info, other) }):
			return nil
		}
		at = filepath.Dir(at)
	}
}

// existing returns the part of a path that exists, without symbolic links.
func existing(name string) (string, error) {
	at, err := filepath.Abs(name)
	if err != nil {
		return "", err
	}
	for {
		real, err := filepath.EvalSymlinks(at)
		if !errors.Is(err, fs.ErrNotExist) || filepath.Dir(at) == at {
			return real, err
		}
		at = filepath.Dir(at)
	}
}

// RemoveSnapshot removes a snapshot, whose folders are read-only. It returns nil if there is none.
func RemoveSnapshot(dir string) error {
	if err := removeAll(dir); err != nil {
		return fmt.Errorf("remove a snapshot: %w", err)
	}
	return nil
}
