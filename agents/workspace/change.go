package workspace

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"
)

// change finds a place whose file is to be made, replaced or removed, and refuses it
// if that may not be: in a tree for reading, through a link to a folder, at or around
// what is protected. The caller holds w.changing.
func (w *Workspace) change(name string) (place, error) {
	p, err := w.find(name)
	switch {
	case err != nil:
		return p, err
	case !p.tree.writable:
		return p, fmt.Errorf("%s can only be read: write to the workspace", p.name)
	case p.name == "." || p.name == p.tree.name && p.tree.file == "":
		return p, fmt.Errorf("%s is a whole tree: name a file or folder in it", p.name)
	}
	if link := p.link(path.Dir(p.rel)); link != "" {
		return p, fmt.Errorf("%s leads through a symbolic link, %s: name the folder itself", p.name, link)
	}
	return p, w.unprotected(p)
}

// link returns the first symbolic link on the way to rel in p's tree, "" if there is
// none.
func (p place) link(rel string) string {
	for i := range len(rel) + 1 {
		if i < len(rel) && rel[i] != '/' {
			continue
		}
		info, err := p.tree.root.Lstat(rel[:i])
		if err != nil {
			return "" // whoever uses the place meets the fault
		}
		if info.Mode()&fs.ModeSymlink != 0 {
			return rel[:i]
		}
	}
	return ""
}

// unprotected refuses a place that is, or is in, or has in it, what is protected. Files
// are told by what they are as well as by their names, which some systems have in
// several spellings.
func (w *Workspace) unprotected(p place) error {
	for _, name := range w.protected {
		kept := w.locate(name)
		if kept.tree != p.tree {
			continue
		}
		if overlap(strings.ToLower(p.rel), strings.ToLower(kept.rel)) || p.tree.meets(p.rel, kept.rel) {
			return fmt.Errorf("%s cannot be changed: %s is protected", p.name, name)
		}
	}
	return nil
}

// overlap says that one of two paths is the other or is in it.
func overlap(a, b string) bool {
	return a == b || strings.HasPrefix(a, b+"/") || strings.HasPrefix(b, a+"/")
}

// meets says that one of two paths is, on its way, the same file as the end of the
// other.
func (t *tree) meets(a, b string) bool { return t.passes(a, b) || t.passes(b, a) }

func (t *tree) passes(way, end string) bool {
	target, err := t.root.Lstat(end)
	if err != nil {
		return false // what is not there is told by its name alone
	}
	for ; way != "."; way = path.Dir(way) {
		if info, err := t.root.Lstat(way); err == nil && os.SameFile(info, target) {
			return true
		}
	}
	return false
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

// drop removes a file that was not to stay.
func (p place) drop(rel string) error {
	if err := p.tree.root.Remove(rel); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return p.failure(err)
	}
	return nil
}
