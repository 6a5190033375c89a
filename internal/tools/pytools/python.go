package pytools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"time"

	"github.com/massgen/massgen/internal/tools/workspace"
)

// Python is an interpreter.
type Python struct {
	// Program is its file, and Trees the folders with its library and packages.
	Program string
	Trees   []string
}

// probe prints what Python knows about itself.
const probe = `import json, sys; print(json.dumps({"program": sys.executable, "trees": [sys.prefix, sys.exec_prefix, sys.base_prefix, sys.base_exec_prefix], "version": list(sys.version_info[:2])}))`

// probeLimit is for Python to start and to answer, also on a busy machine.
const probeLimit = 2 * time.Minute

// Find looks for Python in PATH, as python3 or python. The error says in one line what to install.
func Find(ctx context.Context) (Python, error) {
	var file string
	for _, name := range []string{"python3", "python"} {
		found, err := exec.LookPath(name)
		if err == nil {
			file = found
			break
		}
	}
	if file == "" {
		return Python{}, errors.New("there is no python3 in the PATH: install Python 3.9 or newer")
	}
	ctx, cancel := context.WithTimeout(ctx, probeLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, file, "-I", "-c", probe)
	cmd.WaitDelay = time.Second
	said, err := cmd.Output()
	var p struct {
		Program string
		Trees   []string
		Version []int
	}
	if err == nil {
		if err = json.Unmarshal(said, &p); err == nil && len(p.Version) != 2 {
			err = errors.New("it does not tell its version")
		}
	}
	switch {
	case err != nil:
		return Python{}, fmt.Errorf("%s does not run: %w: install Python 3.9 or newer", file, err)
	case slices.Compare(p.Version, []int{3, 9}) < 0:
		return Python{}, fmt.Errorf("%s is Python %d.%d: install 3.9 or newer, and put it first in the PATH", file, p.Version[0], p.Version[1])
	}
	return Python{Program: p.Program, Trees: readable(p.Trees)}, nil
}

// readable returns the trees of Python without those that have the user's home folder in them.
func readable(trees []string) (list []string) {
	home, err := os.UserHomeDir()
	if err == nil {
		home, err = filepath.EvalSymlinks(home)
	}
	for _, tree := range trees {
		if !filepath.IsAbs(tree) || slices.Contains(list, tree) {
			continue
		}
		if real, failed := filepath.EvalSymlinks(tree); failed != nil || err == nil && within(home, real) {
			continue
		}
		list = append(list, tree)
	}
	return list
}

// within reports whether a path is a folder or lies in it.
func within(path, folder string) bool {
	_, ok := workspace.Inside(path, folder)
	return ok
}
