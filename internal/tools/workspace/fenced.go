package workspace

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// fencedArg is the first argument of this program where it runs a Fenced. The second is the file that describes it.
const fencedArg = "__massgen_fenced"

// Fenced is a program that runs behind the fence of commands, with the standard streams of its caller, until it
// ends or its caller does. It gets PATH, HOME, TMPDIR, LANG, and the other variables in Pass. All paths are absolute.
type Fenced struct {
	Argv []string `json:"argv"`
	// Dir is the folder that it runs in, which is its HOME, and Temp its folder for temporary files. It may change
	// both.
	Dir  string `json:"dir"`
	Temp string `json:"temp"`
	// Pass names variables of its caller that it inherits.
	Pass []string `json:"pass"`
	// Reads lists trees and files that it may read and execute beside those of every command, and Lists folders
	// whose names it may list.
	Reads []string `json:"reads"`
	Lists []string `json:"lists"`
	// Network lets it use the internet protocols.
	Network bool `json:"network"`
}

// Command writes a description of the program into a file, and returns the command that runs the program: this
// program, started again (see Launcher). The description has no values of variables. Its lists may be longer than
// an argument can be. It fails where CanFence is false.
func (f Fenced) Command(file string) ([]string, error) {
	if ok, reason := CanFence(); !ok {
		return nil, fmt.Errorf("run %s: it cannot be fenced in: %s", f.Argv[0], reason)
	}
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find the program's own file: %w", err)
	}
	described, err := json.Marshal(f)
	if err != nil {
		return nil, fmt.Errorf("describe %s: %w", f.Argv[0], err)
	}
	if err := os.WriteFile(file, described, 0o600); err != nil {
		return nil, fmt.Errorf("describe %s: %w", f.Argv[0], err)
	}
	return []string{self, fencedArg, file}, nil
}

// process returns the program as a process of the fence.
func (f Fenced) process() (process, error) {
	c := process{Argv: f.Argv, Dir: f.Dir, HandsOn: true, Env: []string{
		"PATH=" + strings.Join(searchPath(true), string(filepath.ListSeparator)),
		"HOME=" + f.Dir, "TMPDIR=" + f.Temp, "LANG=" + cmp.Or(os.Getenv("LANG"), "C.UTF-8"),
	}}
	if len(f.Argv) == 0 {
		return c, errors.New("it names no program")
	}
	c.Path = f.Argv[0]
	for _, name := range f.Pass {
		isSet := slices.ContainsFunc(c.Env, func(set string) bool { return strings.HasPrefix(set, name+"=") })
		if value, ok := os.LookupEnv(name); ok && !isSet {
			c.Env = append(c.Env, name+"="+value)
		}
	}
	c.Fence = &fence{Reads: f.Reads, Lists: f.Lists, Network: f.Network}
	for _, tree := range []string{f.Dir, f.Temp} {
		real, err := filepath.EvalSymlinks(tree)
		if err != nil {
			return c, fmt.Errorf("find its folder: %w", err)
		}
		if !slices.Contains(c.Fence.Writes, real) {
			c.Fence.Writes = append(c.Fence.Writes, real)
		}
	}
	return c, nil
}
