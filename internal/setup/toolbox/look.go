package toolbox

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/massgen/massgen/configs"
	"github.com/massgen/massgen/internal/tools/permission"
	"github.com/massgen/massgen/internal/tools/workspace"
)

// look sees an agent's folder and context paths as its tools do.
type look struct {
	cwd    string
	mounts func() []workspace.Mount
}

// lookFor returns the look of an agent of a config, nil for an agent without a folder.
func lookFor(config *configs.Config, agent int) permission.Look {
	cwd := config.Agents[agent].Tools.CWD
	if cwd == "" {
		return nil
	}
	return look{cwd, sync.OnceValue(func() []workspace.Mount {
		all, err := mountsOfAll(config)
		if err != nil {
			return nil // opening the folders fails too, and no tool is called
		}
		return slices.Concat(all[agent].reads, all[agent].writes)
	})}
}

// The longest path that a file system accepts, and the most links that are followed.
const (
	longestPath = 4096
	mostLinks   = 40
)

func (l look) home() (string, error) {
	home, err := filepath.Abs(l.cwd)
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(home)
}

// Path implements permission.Look.
func (l look) Path(name string) (names []string, isFolder bool) {
	home, err := l.home()
	if err != nil || len(name) > longestPath || strings.Contains(name, "\x00") {
		return nil, false
	}
	at := filepath.FromSlash(name)
	if !filepath.IsAbs(at) {
		at = filepath.Join(home, at)
		first, rest, _ := strings.Cut(path.Clean(filepath.ToSlash(name)), "/")
		for _, m := range l.mounts() {
			if m.Name == first {
				at = filepath.Join(m.Dir, filepath.FromSlash(rest))
			}
		}
	}
	real := realPath(at, mostLinks)
	if real == "" {
		return nil, false
	}
	info, err := os.Stat(real)
	return l.names(home, real), err == nil && info.IsDir()
}

// names returns the names by which the tools know a place.
func (l look) names(home, real string) (names []string) {
	if rel, ok := workspace.Inside(real, home); ok {
		names = append(names, rel)
	}
	for _, m := range l.mounts() {
		if rel, ok := workspace.Inside(real, m.Dir); ok {
			names = append(names, path.Join(m.Name, rel))
		}
	}
	return append(names, filepath.ToSlash(real))
}

// realPath returns a path without links, "" for none. Its last elements need not exist yet: a
// file made under the path would be there.
func realPath(at string, links int) string {
	if links == 0 {
		return ""
	}
	real, err := filepath.EvalSymlinks(at)
	parent := filepath.Dir(at)
	switch {
	case err == nil:
		return real
	case !errors.Is(err, fs.ErrNotExist) || parent == at:
		return ""
	}
	if target, err := os.Readlink(at); err == nil {
		return realPath(beside(at, target), links-1)
	}
	if parent = realPath(parent, links-1); parent == "" {
		return ""
	}
	return filepath.Join(parent, filepath.Base(at))
}

// beside returns the target of a link.
func beside(link, target string) string {
	if filepath.IsAbs(target) {
		return target
	}
	return filepath.Join(filepath.Dir(link), target)
}

// Program implements permission.Look.
func (l look) Program(called, dir string) []string {
	names := []string{called}
	if len(called) > longestPath || strings.Contains(called, "\x00") {
		return names
	}
	for _, at := range l.called(called, dir) {
		for range mostLinks {
			names = append(names, l.namesOfProgram(at)...)
			target, err := os.Readlink(at)
			if err != nil {
				break
			}
			at = beside(at, target)
		}
	}
	return names
}

// called returns the files that a command may mean, as run_command looks for them.
func (l look) called(name, dir string) (files []string) {
	if strings.ContainsAny(name, `/\`) {
		if at := filepath.FromSlash(name); filepath.IsAbs(at) {
			return []string{at}
		}
		home, err := l.home()
		if err != nil {
			return nil
		}
		return []string{filepath.Join(home, filepath.FromSlash(dir), filepath.FromSlash(name))}
	}
	for _, folder := range filepath.SplitList(os.Getenv("PATH")) {
		files = append(files, filepath.Join(folder, name), filepath.Join(folder, name+".exe"))
	}
	return slices.DeleteFunc(files, func(file string) bool {
		_, err := os.Lstat(file)
		return err != nil
	})
}

// namesOfProgram returns the paths of a file: as given, without links, in the agent's folder,
// and in the same folders of PATH.
func (l look) namesOfProgram(at string) []string {
	names := []string{filepath.ToSlash(at)}
	folder, err := filepath.EvalSymlinks(filepath.Dir(at))
	if err != nil {
		return names
	}
	if home, err := l.home(); err == nil {
		names = append(names, l.names(home, filepath.Join(folder, filepath.Base(at)))...)
	}
	for _, other := range filepath.SplitList(os.Getenv("PATH")) {
		if real, err := filepath.EvalSymlinks(other); err == nil && real == folder {
			names = append(names, filepath.ToSlash(filepath.Join(other, filepath.Base(at))))
		}
	}
	return names
}
