package workspace

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// kept is a file or folder in a writable tree that must not change.
type kept struct {
	name string // in messages
	rel  string // within the tree's root; "." for all of the tree
}

// protect protects the paths of Protected in all trees that contain them, and read-only mounts in the
// writable trees around them.
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

// keep protects a file in a tree, if the file is in the tree or contains it.
func (t *tree) keep(name, file string) {
	if rel, ok := Inside(file, t.dir); ok {
		t.kept = append(t.kept, kept{name, rel})
	} else if _, ok := Inside(t.dir, file); ok {
		t.kept = append(t.kept, kept{name, "."})
	}
}

// unprotected refuses a place that is protected, or in a protected folder, or contains a protected
// file. It compares names and files.
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

// hasNoOwners refuses to move or delete a folder that contains one of ownersNames, or a folder that it
// cannot read.
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

// ownersNames returns names of files that their owner trusts: a hook or a setting of git is a program
// that runs later without a fence. MassGen protects the same names.
func ownersNames() []string { return []string{".git", ".env", programFolder} }

// overlap reports whether two paths are equal or one is in the other.
func overlap(a, b string) bool {
	return a == b || b == "." || strings.HasPrefix(a, b+"/") || strings.HasPrefix(b, a+"/")
}

// passes reports whether a path is the same file as another one, or leads through it.
func (t *tree) passes(way, end string) bool {
	target, err := t.root.Lstat(end)
	if err != nil {
		return false // a file that does not exist is compared by name alone
	}
	for ; way != "."; way = path.Dir(way) {
		if info, err := t.root.Lstat(way); err == nil && os.SameFile(info, target) {
			return true
		}
	}
	return false
}
