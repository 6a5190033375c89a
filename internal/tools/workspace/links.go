package workspace

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
)

// linkable reports whether every user may make links. On Windows a user needs a right for that.
const linkable = filepath.Separator != '\\'

// links is a folder with a link to each answer's folder, for commands. All changes go through os.Root:
// a command that could write there would not redirect them. It is safe for concurrent use. Commands at
// the same time belong to one message and see the same answers.
type links struct {
	own  scratch  // the folder, if the options name none
	root *os.Root // nil before the first links, if the options name none
	dir  string   // its path without symbolic links
	mu   sync.Mutex
}

// openLinks opens a folder for links. If dir is empty, show makes one later.
func openLinks(dir string) (l *links, err error) {
	l = &links{}
	if dir == "" {
		return l, nil
	}
	if err = os.MkdirAll(dir, 0o755); err == nil {
		dir, err = filepath.Abs(dir)
	}
	if err == nil {
		dir, err = filepath.EvalSymlinks(dir)
	}
	if err == nil {
		err = l.open(dir)
	}
	if err != nil {
		return nil, fmt.Errorf("make the folder of answers for commands: %w", err)
	}
	if err := l.show(nil); err != nil {
		return nil, errors.Join(err, l.root.Close())
	}
	return l, nil
}

func (l *links) open(dir string) (err error) {
	l.dir = dir
	l.root, err = os.OpenRoot(dir)
	return err
}

// show makes links, given by their names, and removes all others from the folder.
func (l *links) show(want map[string]string) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.root == nil {
		dir, err := l.own.open("massgen-answers-*")
		if err == nil {
			err = l.open(dir)
		}
		if err != nil {
			return fmt.Errorf("make the folder of answers for commands: %w", err)
		}
	}
	if err := l.change(want); err != nil {
		return fmt.Errorf("show the answers to commands in %s: %w", l.dir, err)
	}
	return nil
}

func (l *links) change(want map[string]string) error {
	entries, err := fs.ReadDir(l.root.FS(), ".")
	if err != nil {
		return err
	}
	for _, e := range entries {
		if _, wanted := want[e.Name()]; wanted || e.Type()&fs.ModeSymlink == 0 {
			continue
		}
		if err := l.root.Remove(e.Name()); err != nil {
			return err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(want)) {
		// Another process that uses the same folder may have made it meanwhile.
		if now, err := l.root.Readlink(name); err == nil && now == want[name] {
			continue
		}
		beside := ".massgen-" + rand.Text()
		if err := l.root.Symlink(want[name], beside); err != nil {
			return err
		}
		if err := l.root.Rename(beside, name); err != nil {
			return errors.Join(err, l.root.Remove(beside))
		}
	}
	return nil
}

func (l *links) close() error {
	switch {
	case l.root == nil:
		return l.own.remove()
	case l.own.dir != "":
		return errors.Join(l.root.Close(), l.own.remove())
	}
	return errors.Join(l.show(nil), l.root.Close())
}
