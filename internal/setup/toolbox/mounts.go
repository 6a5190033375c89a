package toolbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/massgen/massgen/configs"
	"github.com/massgen/massgen/internal/storage/store"
	"github.com/massgen/massgen/internal/tools/workspace"
)

// mounts are the paths that an agent sees beside its own folder.
type mounts struct {
	reads, writes []workspace.Mount
	protected     []string
}

// mountsOfAll returns the mounts of every agent. A fault of a path that several agents share is
// reported once.
func mountsOfAll(config *configs.Config) ([]mounts, error) {
	all := make([]mounts, len(config.Agents))
	var errs []error
	told := map[string]bool{}
	for i := range config.Agents {
		for _, p := range config.ContextPaths(i) {
			err := all[i].add(config, p)
			if err == nil {
				continue
			}
			if err = fmt.Errorf("%s: context_paths: %w", p.At, err); !told[err.Error()] {
				told[err.Error()] = true
				errs = append(errs, err)
			}
		}
	}
	return all, errors.Join(errs...)
}

// add mounts a path, without opening it.
func (m *mounts) add(config *configs.Config, p configs.ContextPath) error {
	at, err := filepath.Abs(p.Path)
	if err != nil {
		return err
	}
	dir, isFile, err := resolve(at, p.Path)
	if err != nil {
		return err
	}
	mount := workspace.Mount{Name: m.nameFor(filepath.Base(at), isFile), Dir: dir}
	if !p.Write {
		m.reads = append(m.reads, mount)
		return nil
	}
	m.writes = append(m.writes, mount)
	for _, name := range p.Protected {
		if isFile {
			return fmt.Errorf("protected_paths: %s is a file and has nothing in it; leave them out, or use permission: read", p.Path)
		}
		if filepath.IsAbs(name) {
			if name, err = filepath.Rel(at, name); err != nil {
				return fmt.Errorf("protected_paths: %w", err)
			}
		}
		rel, err := below(dir, name)
		if err != nil {
			return fmt.Errorf("protected_paths: %w", err)
		}
		m.protected = append(m.protected, path.Join(mount.Name, rel))
	}
	for _, a := range config.Agents {
		if rel, ok := agentsFolder(a, dir); ok {
			m.protected = append(m.protected, path.Join(mount.Name, rel))
		}
	}
	return nil
}

// resolve returns the target of an absolute path, without symbolic links. called is its name in
// the config.
func resolve(at, called string) (dir string, isFile bool, err error) {
	var info fs.FileInfo
	if dir, err = filepath.EvalSymlinks(at); err == nil {
		info, err = os.Stat(dir)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", false, missing(called + " is not there: correct the path, or make it first")
	case err != nil:
		return "", false, err
	case !info.IsDir() && !info.Mode().IsRegular():
		return "", false, fmt.Errorf("%s is neither a folder nor a file: name another", called)
	case filepath.Dir(dir) == dir:
		return "", false, fmt.Errorf("%s is all that there is: name a folder in it", called)
	}
	return dir, !info.IsDir(), nil
}

// missing is the error of a file or folder that does not exist.
type missing string

func (m missing) Error() string { return string(m) }

// Is implements the interface of errors.Is.
func (missing) Is(target error) bool { return target == fs.ErrNotExist }

// below returns the clean path, with slashes, of a protected file in a folder.
func below(dir, name string) (string, error) {
	file := filepath.Join(dir, name)
	if !filepath.IsLocal(name) {
		return "", fmt.Errorf("%s is not in the context path: name something that is", name)
	}
	real, err := filepath.EvalSymlinks(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", missing(name + " is not there: correct the name, or leave it out")
	case err != nil:
		return "", err
	case real != file:
		return "", fmt.Errorf("%s leads through a symbolic link to %s: name the file itself", name, real)
	}
	return filepath.ToSlash(filepath.Clean(name)), nil
}

// agentsFolder returns the place of an agent's own folder within dir, if it is there: the final
// answer of another agent does not write to it. The folder need not exist yet.
func agentsFolder(a configs.Agent, dir string) (string, bool) {
	if a.Tools.CWD == "" {
		return "", false
	}
	cwd, err := filepath.Abs(a.Tools.CWD)
	if err != nil {
		return "", false // opening it reports the fault
	}
	if real, err := filepath.EvalSymlinks(cwd); err == nil {
		cwd = real
	}
	rel, err := filepath.Rel(dir, cwd)
	return filepath.ToSlash(rel), err == nil && filepath.IsLocal(rel)
}

// nameFor returns the last element of a path, with a number if that name is in use.
func (m *mounts) nameFor(base string, isFile bool) string {
	stem, ext := base, ""
	if isFile {
		ext = filepath.Ext(base)
		stem = strings.TrimSuffix(base, ext)
	}
	unique := base
	for n := 2; m.taken(unique); n++ {
		unique = fmt.Sprintf("%s-%d%s", stem, n, ext)
	}
	return unique
}

func (m *mounts) taken(name string) bool {
	same := func(mount workspace.Mount) bool { return strings.EqualFold(mount.Name, name) }
	return strings.EqualFold(name, "answers") || strings.EqualFold(name, store.OwnFolder) || slices.ContainsFunc(slices.Concat(m.reads, m.writes), same)
}
