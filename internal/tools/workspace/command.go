package workspace

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// The defaults of CommandOptions.
const (
	defaultTimeout   = 2 * time.Minute
	defaultMaxOutput = 30_000
)

// CommandOptions limit run_command. A command writes only to the workspace and the folder for
// temporary files, and reads these, the mounts and the system's own trees. It has no network, and no
// variables except PATH, HOME (the workspace), TMPDIR and LANG.
type CommandOptions struct {
	// Allow has patterns of names (git, python*) of the programs that may run; empty allows all.
	// Programs are looked up in PATH, and not in the workspace. Behind a fence the kernel also
	// applies Allow to programs that a command starts.
	Allow []string
	// Deny has patterns of names that a command must not contain, as its program or within its
	// arguments. It prevents accidents, not attacks.
	Deny []string
	// Timeout ends a command; 0 means two minutes.
	Timeout time.Duration
	// MaxOutput is how many bytes of output are returned; 0 means 30,000.
	MaxOutput int
	// Unfenced runs commands even where they cannot be fenced in: the caller asks a person about
	// each. Without it run_command refuses them there.
	Unfenced bool
}

// command is run_command of one workspace.
type command struct {
	CommandOptions
	fence  *fence   // nil where commands cannot be fenced in
	reason string   // why they cannot
	path   []string // the folders in which programs are looked up
}

func newCommand(o CommandOptions, w *Workspace) (*command, error) {
	c := &command{CommandOptions: o}
	c.Timeout = cmp.Or(o.Timeout, defaultTimeout)
	c.MaxOutput = cmp.Or(o.MaxOutput, defaultMaxOutput)
	for _, pattern := range slices.Concat(o.Allow, o.Deny) {
		if _, err := path.Match(pattern, ""); err != nil || strings.Contains(pattern, "/") {
			return nil, fmt.Errorf("the command pattern %q is no pattern of a program's name, such as git or python*", pattern)
		}
	}
	ok, reason := CanFence()
	c.reason = reason
	c.path = searchPath(ok)
	if !ok {
		return c, nil
	}
	c.fence = &fence{Writes: []string{w.own.dir}}
	if len(o.Allow) == 0 {
		return c, nil
	}
	var err error
	c.fence.Programs, err = withLoaders(c.programs())
	return c, err
}

// searchPath returns the folders of PATH that a command can read.
func searchPath(fenced bool) []string {
	var dirs []string
	for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
		real, err := filepath.EvalSymlinks(dir)
		if err == nil && filepath.IsAbs(dir) && (!fenced || isAlwaysReadable(real)) {
			dirs = append(dirs, dir)
		}
	}
	return dirs
}

// programs returns the files in PATH that Allow names.
func (c *command) programs() []string {
	found := []string{}
	for _, dir := range c.path {
		entries, err := os.ReadDir(dir)
		if err != nil {
			continue // as in every search through PATH
		}
		for _, e := range entries {
			if file := filepath.Join(dir, e.Name()); matches(c.Allow, programName(file)) && executable(file) {
				found = append(found, file)
			}
		}
	}
	return found
}

func executable(file string) bool {
	info, err := os.Stat(file)
	return err == nil && info.Mode().IsRegular() && (filepath.Separator == '\\' || info.Mode()&0o111 != 0)
}

// programName returns the name that patterns are compared with.
func programName(file string) string {
	name := filepath.Base(file)
	if filepath.Separator == '\\' {
		name = strings.TrimSuffix(strings.ToLower(name), ".exe")
	}
	return name
}

func matches(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		ok, err := path.Match(pattern, name)
		return ok && err == nil
	})
}

// terms returns the limits of commands in words for the model.
func (c *command) terms(w *Workspace) string {
	var b strings.Builder
	if c.fence != nil {
		b.WriteString("It can write to the workspace and to $TMPDIR only, and read these and the system's programs. It has no network.")
	} else {
		b.WriteString("A person is asked before it runs.")
	}
	if len(c.Allow) > 0 {
		fmt.Fprintf(&b, " Programs that may run: %s.", strings.Join(c.Allow, ", "))
	}
	if len(c.Deny) > 0 {
		fmt.Fprintf(&b, " Programs that may not run: %s.", strings.Join(c.Deny, ", "))
	}
	if w.links != nil {
		b.WriteString(" The files of the answers that you were shown are in $ANSWERS/agent1 and so on, for reading.")
	}
	for _, m := range w.mounts {
		fmt.Fprintf(&b, " It can read %s at %s.", m.name, m.dir)
	}
	return b.String()
}

type runCommandArgs struct {
	Argv []string `json:"argv"`
	Dir  string   `json:"dir"`
}

func (runCommandArgs) changesWorld(w *Workspace) bool {
	return w.command == nil || w.command.fence == nil
}

// noExit is the exit status of a command that ran out of time.
const noExit = -1

type runCommandResult struct {
	Success  bool   `json:"success"`
	Exit     int    `json:"exit"`
	Output   string `json:"output"`
	Omitted  int64  `json:"omitted_bytes,omitempty"`
	TimedOut bool   `json:"timed_out,omitempty"`
	Error    string `json:"error,omitempty"`
}

func (r runCommandResult) failed() bool { return !r.Success }

func (v *view) runCommand(ctx context.Context, a runCommandArgs) (any, error) {
	p, err := v.find(cmp.Or(a.Dir, "."))
	if err != nil {
		return nil, err
	}
	if p.tree != &v.own {
		return nil, fmt.Errorf("commands run in the workspace, not in %s: leave dir out", p.name)
	}
	if info, err := p.tree.root.Stat(p.rel); err != nil || !info.IsDir() {
		return nil, fmt.Errorf("%s is no folder to run a command in", p.name)
	}
	file, err := v.command.resolve(a.Argv)
	if err != nil {
		return nil, err
	}
	if v.command.fence == nil && !v.command.Unfenced {
		return nil, fmt.Errorf("commands do not run here: nobody is there to approve them, and %s", v.command.reason)
	}
	temp, err := v.temp.open("massgen-*")
	if err != nil {
		return nil, err
	}
	fence, err := v.fence(temp)
	if err != nil {
		return nil, err
	}
	if err := v.Check(); err != nil {
		return nil, err
	}
	r, err := runProcess(ctx, process{
		Path: file, Argv: a.Argv, Dir: filepath.Join(v.own.dir, filepath.FromSlash(p.rel)), Env: v.commandEnv(temp),
		Fence: fence, Timeout: v.command.Timeout, MaxOutput: v.command.MaxOutput,
	})
	if err != nil {
		return nil, err
	}
	result := runCommandResult{
		Success: r.Exit == 0 && !r.TimedOut, Exit: r.Exit, Output: strings.ToValidUTF8(string(r.Output), "\uFFFD"),
		Omitted: r.Omitted, TimedOut: r.TimedOut,
	}
	switch {
	case r.TimedOut:
		result.Exit = noExit
		result.Error = fmt.Sprintf("it was ended after %s: do it in smaller steps", v.command.Timeout)
	case r.Signal != "":
		result.Error = "it was ended by " + r.Signal
	case r.Exit != 0:
		result.Error = fmt.Sprintf("it ended with status %d", r.Exit)
	}
	return result, nil
}

// resolve returns the file of a command's program, or why the command may not run.
func (c *command) resolve(argv []string) (string, error) {
	if len(argv) == 0 || argv[0] == "" {
		return "", errors.New("argv is empty: it begins with the program")
	}
	for _, arg := range argv {
		if strings.Contains(arg, "\x00") {
			return "", errors.New("argv has a zero byte, which no program can be given: leave it out")
		}
	}
	if word := c.denied(argv); word != "" {
		return "", fmt.Errorf("%s may not run here: do without it", word)
	}
	if strings.ContainsAny(argv[0], `/\`) {
		if len(c.Allow) > 0 {
			return "", fmt.Errorf("%s is a path: only programs of the system may run here, by their names: %s", argv[0], strings.Join(c.Allow, ", "))
		}
		return argv[0], nil
	}
	if len(c.Allow) > 0 && !matches(c.Allow, argv[0]) {
		return "", fmt.Errorf("%s may not run here; these may: %s", argv[0], strings.Join(c.Allow, ", "))
	}
	for _, dir := range c.path {
		for _, suffix := range []string{"", ".exe"} {
			if file := filepath.Join(dir, argv[0]+suffix); executable(file) {
				return file, nil
			}
		}
	}
	return "", fmt.Errorf("there is no program %s here", argv[0])
}

// denied returns a word of the command that Deny names. It searches the arguments too: they may be
// for a shell, or for one of the many programs that start others.
func (c *command) denied(argv []string) string {
	for _, arg := range argv {
		for _, word := range append(wordPattern.FindAllString(arg, -1), programName(arg)) {
			if matches(c.Deny, word) {
				return word
			}
		}
	}
	return ""
}

// wordPattern matches possible names of programs.
var wordPattern = regexp.MustCompile(`[a-zA-Z0-9_.+-]+`)

// fence returns the command's fence in this call, through which it can read the answers too, or nil
// if there is no fence. It makes missing links to the answers.
func (v *view) fence(temp string) (*fence, error) {
	var dirs []string
	if v.links != nil {
		links := map[string]string{}
		for _, a := range v.shown() {
			dir, err := filepath.EvalSymlinks(a.Dir)
			if err != nil {
				return nil, v.locate(path.Join(answersName, a.Name)).failure(err)
			}
			links[a.Name] = dir
			dirs = append(dirs, dir)
		}
		if err := v.links.show(links); err != nil {
			return nil, err
		}
		dirs = append(dirs, v.links.dir)
	}
	if v.command.fence == nil {
		return nil, nil
	}
	fence := *v.command.fence
	for i := range v.mounts {
		m := &v.mounts[i]
		dirs = append(dirs, m.readable()...)
		if len(m.hidden) > 0 {
			fence.Lists = append(slices.Clip(fence.Lists), m.dir)
		}
	}
	fence.Reads, fence.Writes = slices.Concat(fence.Reads, dirs), append(slices.Clip(fence.Writes), temp)
	return &fence, nil
}

func (w *Workspace) commandEnv(temp string) []string {
	env := []string{
		"PATH=" + strings.Join(w.command.path, string(filepath.ListSeparator)),
		"HOME=" + w.own.dir, "TMPDIR=" + temp, "LANG=" + cmp.Or(os.Getenv("LANG"), "C.UTF-8"),
	}
	if w.links != nil {
		env = append(env, "ANSWERS="+w.links.dir)
	}
	return env
}
