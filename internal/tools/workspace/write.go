package workspace

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
)

// mostWritten is the size of the largest file that a tool writes or edits, in bytes.
const mostWritten = 10 << 20

type writeFileArgs struct {
	Path    string `json:"path"`
	Content string `json:"content"`
}

type writeFileResult struct {
	done
	Size    int  `json:"size"`
	Created bool `json:"created"`
}

func (v *view) writeFile(_ context.Context, a writeFileArgs) (any, error) {
	if len(a.Content) > mostWritten {
		return nil, fmt.Errorf("the content has %d bytes: at most %d are possible", len(a.Content), mostWritten)
	}
	v.changing.Lock()
	defer v.changing.Unlock()
	p, err := v.change(a.Path)
	if err != nil {
		return nil, err
	}
	created, err := p.replace([]byte(a.Content))
	if err != nil {
		return nil, err
	}
	return writeFileResult{done{true, p.name}, len(a.Content), created}, nil
}

type editFileArgs struct {
	Path       string `json:"path"`
	OldText    string `json:"old_text"`
	NewText    string `json:"new_text"`
	ReplaceAll bool   `json:"replace_all"`
}

type editFileResult struct {
	done
	Size         int `json:"size"`
	Replacements int `json:"replacements"`
}

func (v *view) editFile(_ context.Context, a editFileArgs) (any, error) {
	v.changing.Lock()
	defer v.changing.Unlock()
	p, err := v.change(a.Path)
	if err != nil {
		return nil, err
	}
	text, err := p.readAll(mostWritten)
	if err != nil {
		return nil, err
	}
	if a.OldText == "" {
		return nil, errors.New("old_text is empty: give the piece that is to be replaced, or use write_file")
	}
	old := []byte(a.OldText)
	n := bytes.Count(text, old)
	switch {
	case n == 0:
		return nil, fmt.Errorf("old_text is not in %s: read_file shows what is, blanks included", p.name)
	case n > 1 && !a.ReplaceAll:
		return nil, fmt.Errorf("old_text is in %s %d times: give more of the text around it, or set replace_all", p.name, n)
	}
	if size := len(text) + n*(len(a.NewText)-len(old)); size > mostWritten {
		return nil, fmt.Errorf("%s would have %d bytes: at most %d are possible", p.name, size, mostWritten)
	}
	text = bytes.ReplaceAll(text, old, []byte(a.NewText))
	if _, err := p.replace(text); err != nil {
		return nil, err
	}
	return editFileResult{done{true, p.name}, len(text), n}, nil
}

type moveFileArgs struct {
	From string `json:"from"`
	To   string `json:"to"`
}

type moveFileResult struct {
	done
	From string `json:"from"`
}

func (v *view) moveFile(_ context.Context, a moveFileArgs) (any, error) {
	v.changing.Lock()
	defer v.changing.Unlock()
	from, err := v.change(a.From)
	if err != nil {
		return nil, err
	}
	to, err := v.change(a.To)
	if err != nil {
		return nil, err
	}
	info, err := v.lstat(from)
	if err != nil {
		return nil, from.failure(err)
	}
	switch _, err := v.lstat(to); {
	case err == nil:
		return nil, fmt.Errorf("%s is there already: delete it first, or name another path", to.name)
	case !errors.Is(err, fs.ErrNotExist):
		return nil, to.failure(err)
	case from.tree != to.tree && !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is %s: only files can be moved to another tree", from.name, kind(info.Mode()))
	}
	if err := from.hasNoOwners(); err != nil {
		return nil, err
	}
	if err := from.moveTo(to); err != nil {
		return nil, err
	}
	return moveFileResult{done{true, to.name}, from.name}, nil
}

func (p place) moveTo(to place) error {
	if p.tree != to.tree {
		text, err := p.readAll(mostWritten)
		if err != nil {
			return err
		}
		if _, err := to.replace(text); err != nil {
			return err
		}
		return p.failure(p.tree.root.Remove(p.rel))
	}
	if err := to.tree.root.MkdirAll(path.Dir(to.rel), 0o755); err != nil {
		return to.failure(err)
	}
	return p.failure(p.tree.root.Rename(p.rel, to.rel))
}

type deleteFileArgs struct {
	Path      string `json:"path"`
	Recursive bool   `json:"recursive"`
}

func (v *view) deleteFile(_ context.Context, a deleteFileArgs) (any, error) {
	v.changing.Lock()
	defer v.changing.Unlock()
	p, err := v.change(a.Path)
	if err != nil {
		return nil, err
	}
	info, err := v.lstat(p)
	if err != nil {
		return nil, p.failure(err)
	}
	if info.IsDir() && a.Recursive {
		if err := p.hasNoOwners(); err != nil {
			return nil, err
		}
		return done{true, p.name}, p.failure(p.tree.root.RemoveAll(p.rel))
	}
	if err := p.tree.root.Remove(p.rel); err != nil {
		if info.IsDir() {
			return nil, fmt.Errorf("%w: with recursive, what is in it is deleted too", p.failure(err))
		}
		return nil, p.failure(err)
	}
	return done{true, p.name}, nil
}

// These tools change only the agent's own files, unless the path is in a mount.

func (a writeFileArgs) changesWorld(w *Workspace) bool  { return w.inMount(a.Path) }
func (a editFileArgs) changesWorld(w *Workspace) bool   { return w.inMount(a.Path) }
func (a moveFileArgs) changesWorld(w *Workspace) bool   { return w.inMount(a.From) || w.inMount(a.To) }
func (a deleteFileArgs) changesWorld(w *Workspace) bool { return w.inMount(a.Path) }

func (w *Workspace) inMount(name string) bool {
	clean, err := parsePath(name)
	if err != nil {
		return false
	}
	t := w.locate(clean).tree
	return t.writable && t != &w.own
}
