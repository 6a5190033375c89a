package workspace

import (
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// Around returns paths that together have everything in a folder but some hidden files and folders. It returns the
// folder alone if none of them is in it.
func Around(dir string, hidden []string) []string {
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return nil // nothing of it can be read
	}
	t := tree{dir: real}
	for _, file := range realPaths(hidden) {
		t.hide(file)
	}
	return t.readable()
}

// realPaths returns absolute paths without symbolic links. The last name of a path need not exist.
func realPaths(files []string) (list []string) {
	for _, file := range files {
		file, err := filepath.Abs(file)
		if err != nil {
			continue // the current folder is gone, and nothing is in it
		}
		if real, err := filepath.EvalSymlinks(file); err == nil {
			file = real
		} else if real, err := filepath.EvalSymlinks(filepath.Dir(file)); err == nil { // it does not exist yet
			file = filepath.Join(real, filepath.Base(file))
		}
		list = append(list, file)
	}
	return list
}

// hide hides files, by their paths on this machine, in all trees that contain them.
func (w *Workspace) hide(files []string) {
	for _, file := range realPaths(files) {
		w.own.hide(file)
		for i := range w.mounts {
			w.mounts[i].hide(file)
		}
	}
}

// hide hides a file in the tree. A tree that would be hidden as a whole stays as it is: the user shows it.
func (t *tree) hide(file string) {
	if rel, ok := Inside(file, t.dir); ok && rel != "." {
		t.hidden = append(t.hidden, rel)
	}
}

// isHidden reports whether a path in the tree is hidden, or leads into a hidden folder, also by a link.
func (t *tree) isHidden(rel string) bool {
	return slices.ContainsFunc(t.hidden, func(hidden string) bool {
		if its, way := strings.ToLower(hidden), strings.ToLower(rel); way == its || strings.HasPrefix(way, its+"/") {
			return true
		}
		target, err := t.root.Stat(hidden)
		if err != nil {
			return false
		}
		for way := rel; way != "."; way = path.Dir(way) {
			if info, err := t.root.Stat(way); err == nil && os.SameFile(info, target) {
				return true
			}
		}
		return false
	})
}

// readable returns paths that together have everything in the tree but what is hidden. Links are left out: what
// they lead to within the tree is there under its own name.
func (t *tree) readable() []string {
	if len(t.hidden) == 0 {
		return []string{t.dir}
	}
	return t.around(".")
}

func (t *tree) around(rel string) (list []string) {
	for _, hidden := range t.hidden {
		if hidden == rel {
			return nil
		}
	}
	dir := filepath.Join(t.dir, filepath.FromSlash(rel))
	if !slices.ContainsFunc(t.hidden, func(hidden string) bool { return rel == "." || strings.HasPrefix(hidden, rel+"/") }) {
		return []string{dir}
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil // nothing of it can be read
	}
	for _, e := range entries {
		if e.Type()&os.ModeSymlink != 0 { // a rule about a link is one about its target
			continue
		}
		list = append(list, t.around(path.Join(rel, e.Name()))...)
	}
	return list
}
