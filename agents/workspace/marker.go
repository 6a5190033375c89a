package workspace

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"
)

// markerPrefix begins the names of markers.
const markerPrefix = ".massgen-home-"

// mostMarker is how much of a marker is read.
const mostMarker = 64 << 10

// Mark puts a marker into a folder, which is made if it is not there, so that a process on
// another machine can find out whether it sees the same one (Marked). The token is a part of
// the marker's name that nobody can guess. Tools do not show markers.
func Mark(dir, token string) error {
	err := os.MkdirAll(dir, 0o700)
	if err == nil {
		err = inRoot(dir, func(root *os.Root) error { return root.WriteFile(markerPrefix+token, []byte(dir), 0o600) })
	}
	if err != nil {
		return fmt.Errorf("mark the folder %s: %w", dir, err)
	}
	return nil
}

// Marked returns the path by which the folder was known to whoever marked it with a token,
// "" for one that was not marked with it, or is not there.
func Marked(dir, token string) (as string, err error) {
	err = inRoot(dir, func(root *os.Root) error {
		// A command may have put something else there, such as a pipe.
		info, err := root.Lstat(markerPrefix + token)
		if err != nil || !info.Mode().IsRegular() || info.Size() > mostMarker {
			return err
		}
		data, err := root.ReadFile(markerPrefix + token)
		as = string(data)
		return err
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("look for the marker of the folder %s: %w", dir, err)
	}
	return as, nil
}

// Unmark removes a marker. That there is none is no error.
func Unmark(dir, token string) error {
	err := inRoot(dir, func(root *os.Root) error { return root.Remove(markerPrefix + token) })
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove the marker of the folder %s: %w", dir, err)
	}
	return nil
}

// IsMarker says that a file with a name, a path with slashes, is a marker.
func IsMarker(name string) bool { return strings.HasPrefix(path.Base(name), markerPrefix) }

// inRoot does something in a folder that no link in it leads out of.
func inRoot(dir string, do func(*os.Root) error) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	return errors.Join(do(root), root.Close())
}
