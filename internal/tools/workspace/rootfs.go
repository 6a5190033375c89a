package workspace

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// filesOf returns the files of a root for a walk that does not wait: a folder may have become a pipe
// when it is opened. They are safe for concurrent use until the root is closed.
func filesOf(root *os.Root) fs.FS { return files{root.FS(), root} }

type files struct {
	fs.FS
	root *os.Root
}

// ReadDir lists a folder in the order of names.
func (f files) ReadDir(name string) ([]fs.DirEntry, error) {
	dir, err := f.root.OpenFile(name, os.O_RDONLY|nonblock, 0)
	if err != nil {
		return nil, err
	}
	list, err := dir.ReadDir(-1)
	slices.SortFunc(list, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return list, errors.Join(err, dir.Close())
}

// Stat does not open the file.
func (f files) Stat(name string) (fs.FileInfo, error) { return f.root.Stat(name) }

// Inside returns the path of a file from a folder that contains it, with slashes; "." is the folder
// itself. It compares the folders and not their names, since some systems have several spellings of a
// name. Both paths are absolute and have no symbolic links. Parts of file that do not exist are
// compared by name.
func Inside(file, folder string) (rel string, ok bool) {
	its, err := os.Stat(folder)
	if err != nil {
		return "", false // it was just opened: working in it fails too
	}
	rel = "."
	for {
		if info, err := os.Stat(file); err == nil && os.SameFile(info, its) {
			return rel, true
		}
		parent, name := filepath.Dir(file), filepath.Base(file)
		if parent == file {
			return "", false
		}
		file, rel = parent, path.Join(name, rel)
	}
}

// removeAll removes a folder with its contents, also from read-only folders. It returns nil if there
// is no such folder.
func removeAll(dir string) error {
	if err := openUp(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return os.RemoveAll(dir)
}

// openUp makes a folder and all folders in it writable. It goes by a root, since the path of a deep
// file may be longer than a system call takes.
func openUp(dir string) error {
	if info, err := os.Lstat(dir); err != nil || !info.IsDir() {
		return err // a link is removed, and its target stays as it is
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		return err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	err = fs.WalkDir(root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			return root.Chmod(name, 0o755)
		}
		return err
	})
	return errors.Join(err, root.Close())
}
