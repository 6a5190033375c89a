package workspace

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"path"
)

// change finds a place whose file is to be made, replaced or removed. It refuses a place in a
// read-only tree, in a mount before the final answer, behind a link to a folder, and at or around a
// protected file. The caller holds v.changing.
func (v *view) change(name string) (place, error) {
	clean, err := parsePath(name)
	if err != nil {
		return place{}, err
	}
	p := v.locate(clean)
	switch {
	case !p.tree.writable:
		return p, fmt.Errorf("%s can only be read: write to the workspace", p.name)
	case !v.canChange(p.tree):
		return p, fmt.Errorf("%s: only the final answer may write there: work in your workspace until then", p.name)
	case p.name == "." || p.name == p.tree.name && p.tree.file == "":
		return p, fmt.Errorf("%s is a whole tree: name a file or folder in it", p.name)
	}
	if link := p.link(path.Dir(p.rel)); link != "" {
		return p, fmt.Errorf("%s leads through a symbolic link, %s: name the folder itself", p.name, link)
	}
	return p, p.unprotected()
}

// link returns the first symbolic link on the way to rel in p's tree, or "".
func (p place) link(rel string) string {
	for i := range len(rel) + 1 {
		if i < len(rel) && rel[i] != '/' {
			continue
		}
		info, err := p.tree.root.Lstat(rel[:i])
		if err != nil {
			return "" // using the place fails too
		}
		if info.Mode()&fs.ModeSymlink != 0 {
			return rel[:i]
		}
	}
	return ""
}

// replace gives a place's file a new text: it is written beside the old one, whose
// mode it gets, and takes its name. Folders are made as needed.
func (p place) replace(text []byte) (created bool, err error) {
	root, mode := p.tree.root, fs.FileMode(0o644)
	switch info, err := root.Lstat(p.rel); {
	case errors.Is(err, fs.ErrNotExist):
		created = true
		if err := root.MkdirAll(path.Dir(p.rel), 0o755); err != nil {
			return false, p.failure(err)
		}
	case err != nil:
		return false, p.failure(err)
	case !info.Mode().IsRegular():
		return false, fmt.Errorf("%s is %s: name another file", p.name, kind(info.Mode()))
	default:
		mode = info.Mode().Perm()
	}
	beside := path.Join(path.Dir(p.rel), ".massgen-"+rand.Text())
	if err := root.WriteFile(beside, text, mode); err != nil {
		return false, errors.Join(p.failure(err), p.drop(beside))
	}
	if err := root.Rename(beside, p.rel); err != nil {
		return false, errors.Join(p.failure(err), p.drop(beside))
	}
	return created, nil
}

// drop removes a temporary file.
func (p place) drop(rel string) error {
	if err := p.tree.root.Remove(rel); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return p.failure(err)
	}
	return nil
}
