package workspace

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/massgen/massgen/agents"
	"github.com/massgen/massgen/backends"
)

// Mount is a folder or file from elsewhere, shown under a name beside the workspace's
// own files.
type Mount struct {
	// Name is one element of a path. It hides a file of the workspace with that name.
	Name string
	// Dir is its path on this machine.
	Dir string
}

// Options describe a workspace.
type Options struct {
	// Dir is the agent's folder. Open makes it if it does not exist.
	Dir string
	// Reads are mounts that the agent may only read. Writes are mounts that its file tools may change
	// in calls whose agents.CallInfo is Final, except for anything called .git, .env or .massgen.
	Reads, Writes []Mount
	// Protected has paths within Writes, as tools name them, that must not change, with everything
	// below them, by whichever of Writes a call reaches them. Reads within Writes are protected too.
	Protected []string
	// Hidden has files and folders, by their paths on this machine, that no tool shows and no fenced command
	// reads. They need not exist. A command may read all of Dir.
	Hidden []string
	// Answers shows an agent of a panel the folders of the answers that it was shown
	// (agents.CallInfo), as answers/NAME and for reading only. It reports whether a folder is one
	// that keeps the session's answers: an imported journal may name any folder. A mount cannot be
	// called answers then, and a file of the workspace with that name is hidden. Nil is for an
	// agent alone.
	Answers func(session, dir string) bool
	// AnswersDir is a folder outside of Dir where commands find links to the same folders; the
	// variable ANSWERS has its path. Open makes it if it does not exist, and other links in it are
	// removed. Empty means a new folder that Close removes.
	AnswersDir string
	// Command turns run_command on.
	Command *CommandOptions
}

// Workspace is an agent's folder with its mounts. It is safe for concurrent use.
type Workspace struct {
	own     tree
	mounts  []tree
	answers *tree // the folder of answers, which has no root; nil without one
	// isAnswer is Options.Answers.
	isAnswer func(session, dir string) bool
	links    *links
	command  *command
	temp     scratch // for temporary files of commands
	// changing is held while a tool changes files, so that its checks stay true.
	changing sync.Mutex
	kept     int // names of kept results that were tried; guarded by changing
}

// tree is the workspace's own folder or a mount.
type tree struct {
	name     string // "" for the own folder
	root     *os.Root
	file     string // the one file of root that is shown, for a mount that is a file
	dir      string // its path without symbolic links
	writable bool
	kept     []kept
	hidden   []string // paths within the tree that nobody reads
}

// Open opens a workspace. An error names the option and the cure.
func Open(o Options) (w *Workspace, err error) {
	w = &Workspace{}
	defer func() {
		if err != nil {
			err = errors.Join(err, w.Close())
		}
	}()
	if o.Dir == "" {
		return w, errors.New("open a workspace: it has no folder: name one (cwd)")
	}
	if err := os.MkdirAll(o.Dir, 0o755); err != nil {
		return w, fmt.Errorf("make the workspace: %w", err)
	}
	if w.own, err = openTree(Mount{Dir: o.Dir}, true); err != nil {
		return w, fmt.Errorf("open the workspace: %w", err)
	}
	if w.own.file != "" || filepath.Dir(w.own.dir) == w.own.dir {
		return w, fmt.Errorf("open the workspace %s: it is no folder of its own: name another", o.Dir)
	}
	if w.isAnswer = o.Answers; w.isAnswer != nil {
		w.answers = &tree{name: answersName}
	}
	for i, m := range slices.Concat(o.Reads, o.Writes) {
		if err := w.mount(m, i >= len(o.Reads)); err != nil {
			return w, err
		}
	}
	w.hide(o.Hidden)
	if err := w.protect(o.Protected); err != nil {
		return w, err
	}
	if o.Command == nil {
		return w, nil
	}
	if o.Answers != nil && linkable {
		if w.links, err = openLinks(o.AnswersDir); err != nil {
			return w, err
		}
		if _, ok := Inside(w.links.dir, w.own.dir); ok && w.links.dir != "" {
			return w, fmt.Errorf("the folder of answers %s is in the workspace, where commands could change it: take one elsewhere", o.AnswersDir)
		}
	}
	w.command, err = newCommand(*o.Command, w)
	return w, err
}

func openTree(m Mount, writable bool) (tree, error) {
	dir, err := filepath.Abs(m.Dir)
	if err == nil {
		dir, err = filepath.EvalSymlinks(dir)
	}
	if err != nil {
		return tree{}, err
	}
	t := tree{name: m.Name, dir: dir, writable: writable}
	info, err := os.Stat(dir)
	if err != nil {
		return tree{}, err
	}
	folder := dir
	switch {
	case info.Mode().IsRegular():
		folder, t.file = filepath.Split(dir)
	case !info.IsDir():
		return tree{}, fmt.Errorf("%s is %s: name a folder or a file", m.Dir, kind(info.Mode()))
	}
	t.root, err = os.OpenRoot(folder)
	return t, err
}

func (w *Workspace) mount(m Mount, writable bool) error {
	name, err := parsePath(m.Name)
	switch {
	case err != nil:
		return fmt.Errorf("mount %s: %w", m.Dir, err)
	case name != m.Name || name == "." || strings.Contains(name, "/"):
		return fmt.Errorf("mount %s: its name %q is not one element of a path", m.Dir, m.Name)
	case w.answers != nil && strings.EqualFold(name, answersName):
		return fmt.Errorf("mount %s: %s is where the answers' folders are: give it another name", m.Dir, name)
	case slices.ContainsFunc(w.mounts, func(t tree) bool { return strings.EqualFold(t.name, name) }):
		return fmt.Errorf("mount %s: there are two mounts called %s: give one another name", m.Dir, name)
	}
	t, err := openTree(m, writable)
	if err != nil {
		return fmt.Errorf("mount %s as %s: %w", m.Dir, name, err)
	}
	w.mounts = append(w.mounts, t)
	if _, ok := Inside(t.dir, w.own.dir); ok {
		return fmt.Errorf("mount %s as %s: it is in the workspace, where commands could change it: take one elsewhere", m.Dir, name)
	}
	return nil
}

// scratch is a folder for temporary files. It is made when it is first needed, so that an interrupt
// before that leaves no folder. It is safe for concurrent use.
type scratch struct {
	mu  sync.Mutex
	dir string // without symbolic links; empty before it is made
}

// open makes the folder if it does not exist, and returns its path.
func (s *scratch) open(pattern string) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.dir != "" {
		return s.dir, nil
	}
	dir, err := os.MkdirTemp("", pattern)
	if err == nil {
		s.dir = dir // even if its real path cannot be found: remove needs it
		if dir, err = filepath.EvalSymlinks(dir); err == nil {
			dir, err = filepath.Abs(dir)
		}
	}
	if err != nil {
		return "", fmt.Errorf("make a folder for temporary files: %w", err)
	}
	s.dir = dir
	return dir, nil
}

// remove removes the folder with its contents.
func (s *scratch) remove() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.dir == "" {
		return nil
	}
	return removeAll(s.dir)
}

// Close closes the folders and removes temporary files.
func (w *Workspace) Close() error {
	var errs []error
	for _, t := range append(slices.Clone(w.mounts), w.own) {
		if t.root != nil {
			errs = append(errs, t.root.Close())
		}
	}
	if w.links != nil {
		errs = append(errs, w.links.close())
	}
	if err := w.temp.remove(); err != nil {
		errs = append(errs, fmt.Errorf("remove temporary files of %s: %w", w.own.dir, err))
	}
	return errors.Join(errs...)
}

// Dir returns the path of the agent's folder, absolute and without symbolic links.
func (w *Workspace) Dir() string { return w.own.dir }

// Check returns an error if the agent's folder was moved, removed or replaced since it was opened: the
// file tools still use the old folder, but its path leads elsewhere.
func (w *Workspace) Check() error {
	opened, err := w.own.root.Stat(".")
	if err == nil {
		var now fs.FileInfo
		if now, err = os.Lstat(w.own.dir); err == nil && !os.SameFile(opened, now) {
			err = errors.New("another one is in its place")
		}
	}
	if err != nil {
		return fmt.Errorf("the workspace was moved or removed while it was in use: %w", err)
	}
	return nil
}

// Tools returns the tools of the workspace, in a fixed order.
func (w *Workspace) Tools() []agents.Tool {
	list := newTool(w, "list_files", (*view).listFiles)
	list.definition.Description += w.trees()
	tools := []agents.Tool{
		newTool(w, "read_file", (*view).readFile), newTool(w, "write_file", (*view).writeFile),
		newTool(w, "edit_file", (*view).editFile), list, newTool(w, "search_files", (*view).searchFiles),
		newTool(w, "move_file", (*view).moveFile), newTool(w, "delete_file", (*view).deleteFile),
	}
	if w.command != nil {
		run := newTool(w, "run_command", (*view).runCommand)
		run.definition.Description += " " + w.command.terms(w)
		tools = append(tools, run)
	}
	return tools
}

// Definitions returns the definitions of a workspace's tools, without the parts that depend on the
// workspace. It opens no workspace.
func Definitions(runsCommands bool) (list []backends.Tool) {
	w := &Workspace{}
	for _, t := range w.Tools() {
		list = append(list, t.Definition())
	}
	if runsCommands {
		list = append(list, newTool(w, "run_command", (*view).runCommand).definition)
	}
	return list
}

// trees describes the mounts and answers to the model.
func (w *Workspace) trees() string {
	var b strings.Builder
	if w.answers != nil {
		fmt.Fprintf(&b, " In %[1]s/agent1 and so on are the files of the answers that you were shown, for reading only.", answersName)
	}
	for _, t := range w.mounts {
		what, may := "a folder", "be read only"
		if t.file != "" {
			what = "a file"
		}
		switch {
		case t.writable && w.answers != nil:
			may = "be written to by the file tools once your answer has won"
		case t.writable:
			may = "be written to by the file tools"
		}
		fmt.Fprintf(&b, " %s is %s from elsewhere that can %s.", t.name, what, may)
	}
	return b.String()
}

// place is a path from a model, and the tree that it leads to.
type place struct {
	name string // clean, as tools name it
	tree *tree
	rel  string // within the tree's root
}

// locate returns the tree of a clean path. For all paths below answers that is the folder of answers.
func (w *Workspace) locate(clean string) place {
	first, rest, _ := strings.Cut(clean, "/")
	if w.answers != nil && first == w.answers.name {
		return place{clean, w.answers, path.Join(".", rest)}
	}
	for i := range w.mounts {
		if t := &w.mounts[i]; t.name == first {
			return place{clean, t, path.Join(".", t.file, rest)}
		}
	}
	return place{clean, &w.own, clean}
}

// lstat describes a file without following a link. The folder of answers does not exist on disk, so the
// workspace's root stands for it.
func (v *view) lstat(p place) (fs.FileInfo, error) {
	if p.tree == v.answers {
		return v.own.root.Stat(".")
	}
	return p.tree.root.Lstat(p.rel)
}

// failure returns an error about a place, without the paths of the system.
func (p place) failure(err error) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s is not there: list_files shows what is", p.name)
	}
	if at, ok := errors.AsType[*fs.PathError](err); ok {
		err = at.Err
	} else if link, ok := errors.AsType[*os.LinkError](err); ok {
		err = link.Err
	}
	return fmt.Errorf("%s: %w", p.name, err)
}

// kind names a kind of file that is not regular.
func kind(mode fs.FileMode) string {
	switch {
	case mode.IsDir():
		return "a folder"
	case mode&fs.ModeSymlink != 0:
		return "a symbolic link"
	case mode&fs.ModeNamedPipe != 0:
		return "a named pipe"
	case mode&fs.ModeSocket != 0:
		return "a socket"
	case mode&fs.ModeDevice != 0:
		return "a device"
	}
	return "no regular file"
}
