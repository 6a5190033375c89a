package workspace

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// kept is what stays as it is in a tree that can be written to.
type kept struct {
	name string // as messages call it
	rel  string // within the tree's root; "." for all of the tree
}

// protect has what Protected names kept in all trees that lead there, and what is
// mounted for reading in the trees that it lies in: that a folder can be written to
// says nothing about one in it that was named by itself.
func (w *Workspace) protect(names []string) error {
	for _, name := range names {
		clean, err := parsePath(name)
		if err != nil {
			return fmt.Errorf("protect %s: %w", name, err)
		}
		p := w.locate(clean)
		if p.tree.name == "" || !p.tree.writable {
			return fmt.Errorf("protect %s: it is in no mount that can be written to: begin it with the name of one", name)
		}
		if link := p.link(p.rel); link != "" {
			return fmt.Errorf("protect %s: it leads through a symbolic link, %s: name the file itself", name, link)
		}
		p.tree.kept = append(p.tree.kept, kept{clean, p.rel})
		for i := range w.mounts {
			if t := &w.mounts[i]; t.writable && t != p.tree {
				t.keep(clean, filepath.Join(p.tree.root.Name(), filepath.FromSlash(p.rel)))
			}
		}
	}
	for _, read := range w.mounts {
		for i := range w.mounts {
			if t := &w.mounts[i]; t.writable && !read.writable {
				if rel, ok := Inside(read.dir, t.dir); ok {
					t.kept = append(t.kept, kept{read.name, rel})
				}
			}
		}
	}
	return nil
}

// keep keeps a file of the system in a tree, if it is in it or has it in it.
func (t *tree) keep(name, file string) {
	if rel, ok := Inside(file, t.dir); ok {
		t.kept = append(t.kept, kept{name, rel})
	} else if _, ok := Inside(t.dir, file); ok {
		t.kept = append(t.kept, kept{name, "."})
	}
}

// unprotected refuses a place that is, or is in, or has in it, what is kept. Files are
// told by what they are as well as by their names.
func (p place) unprotected() error {
	for _, k := range p.tree.kept {
		if overlap(strings.ToLower(p.rel), strings.ToLower(k.rel)) || p.tree.passes(p.rel, k.rel) || p.tree.passes(k.rel, p.rel) {
			return fmt.Errorf("%s cannot be changed: %s is protected", p.name, k.name)
		}
	}
	if p.tree.name == "" || p.tree.file != "" {
		return nil
	}
	for way := p.rel; way != "."; way = path.Dir(way) {
		for _, name := range ownersNames() {
			its := path.Join(path.Dir(way), name)
			if strings.EqualFold(path.Base(way), name) || p.tree.passes(way, its) {
				return fmt.Errorf("%s cannot be changed: what is called %s stays as it is in folders from elsewhere", p.name, name)
			}
		}
	}
	return nil
}

// hasNoOwners refuses to take a folder away in which something is called as what stays as it
// is. What cannot be looked into may have it.
func (p place) hasNoOwners() error {
	if p.tree.name == "" {
		return nil
	}
	return fs.WalkDir(p.tree.root.FS(), p.rel, func(name string, e fs.DirEntry, err error) error {
		if err != nil {
			return p.failure(err)
		}
		for _, owners := range ownersNames() {
			isOwners := strings.EqualFold(e.Name(), owners)
			if !isOwners { // some systems have several spellings of a name
				isOwners = p.tree.passes(name, path.Join(path.Dir(name), owners))
			}
			if isOwners {
				return fmt.Errorf("%s cannot be taken away: %s is in it, and what is called %s stays as it is in folders from elsewhere",
					p.name, strings.TrimPrefix(name, p.rel+"/"), owners)
			}
		}
		return nil
	})
}

// ownersNames are those of files whose owner trusts them more than others: a hook or a
// setting of git is a program that runs later, with no fence around it. MassGen keeps
// the same from being written.
func ownersNames() []string { return []string{".git", ".env", programFolder} }

// overlap reports whether one of two paths is the other or is in it.
func overlap(a, b string) bool {
	return a == b || b == "." || strings.HasPrefix(a, b+"/") || strings.HasPrefix(b, a+"/")
}

// passes reports whether a path is, on its way, the same file as the end of another.
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
