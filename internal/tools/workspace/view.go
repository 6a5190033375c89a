package workspace

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/massgen/massgen/agents"
)

// answersName begins the paths of the answers' files.
const answersName = "answers"

// view is a workspace as one call sees it, with the answers that its agent was shown. One goroutine uses
// and closes it.
type view struct {
	*Workspace
	info   agents.CallInfo
	opened []*tree // the answers' folders
}

func (w *Workspace) viewOf(info agents.CallInfo) *view { return &view{Workspace: w, info: info} }

func (v *view) close() error {
	var errs []error
	for _, t := range v.opened {
		errs = append(errs, t.root.Close())
	}
	return errors.Join(errs...)
}

// shown returns the answers that have files.
func (v *view) shown() []agents.ShownAnswer {
	if v.answers == nil {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(v.info.Answers), func(a agents.ShownAnswer) bool {
		return a.Dir == "" || !v.isAnswer(v.info.Session, a.Dir)
	})
}

// canChange reports whether the call may write to a tree.
func (v *view) canChange(t *tree) bool { return t.writable && (t == &v.own || v.info.Final) }

// find finds the place of a path that a model wrote.
func (v *view) find(name string) (place, error) {
	clean, err := parsePath(name)
	if err != nil {
		return place{}, err
	}
	p := v.locate(clean)
	if p.tree != v.answers && p.tree.isHidden(p.rel) {
		return place{}, p.failure(fs.ErrNotExist)
	}
	if p.tree != v.answers || p.rel == "." {
		return p, nil
	}
	agent, rest, _ := strings.Cut(p.rel, "/")
	t, err := v.openAnswer(agent)
	if err != nil {
		return place{}, place{name: path.Join(answersName, agent)}.failure(err)
	}
	return place{clean, t, path.Join(".", rest)}, nil
}

// openAnswer opens the folder of an agent's answer until the view is closed.
func (v *view) openAnswer(agent string) (*tree, error) {
	shown := v.shown()
	i := slices.IndexFunc(shown, func(a agents.ShownAnswer) bool { return a.Name == agent })
	if i < 0 {
		return nil, fmt.Errorf("you were shown no answer with files of that name: list_files of %s shows which there are", answersName)
	}
	t, err := openTree(Mount{Name: agent, Dir: shown[i].Dir}, false)
	if err != nil {
		return nil, err
	}
	v.opened = append(v.opened, &t)
	return &t, nil
}
