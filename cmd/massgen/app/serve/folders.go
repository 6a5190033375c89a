package serve

import (
	"fmt"
	"path/filepath"
	"slices"

	"github.com/massgen/massgen/configs"
	"github.com/massgen/massgen/internal/tools/workspace/rootfs"
	"github.com/massgen/massgen/internal/tools/workspace/snapshot"
)

// hasFolders reports whether an agent of a config works in a folder.
func hasFolders(config *configs.Config) bool {
	return slices.ContainsFunc(config.Agents, func(a configs.Agent) bool { return a.Tools.CWD != "" })
}

// inFolders returns the config for one session: each agent works in a subfolder of its own folder that
// only the session uses.
func inFolders(config *configs.Config, session string) *configs.Config {
	own, name := *config, snapshot.FileName(session)
	own.Agents = slices.Clone(config.Agents)
	for i := range own.Agents {
		if t := &own.Agents[i].Tools; t.CWD != "" {
			t.CWD = filepath.Join(t.CWD, name)
		}
	}
	if dir := config.Orchestrator.AgentTemporaryWorkspace; dir != "" {
		own.Orchestrator.AgentTemporaryWorkspace = filepath.Join(dir, name)
	}
	return &own
}

// checkFolders refuses a config whose context_paths contain files of sessions: agents of one session
// could read those of another.
func (o *offer) checkFolders(config *configs.Config) error {
	kept := append(o.store.Files(), o.store.Snapshots, config.Orchestrator.SnapshotStorage, config.Orchestrator.AgentTemporaryWorkspace)
	for _, a := range config.Agents {
		kept = append(kept, a.Tools.CWD)
	}
	for i := range config.Agents {
		for _, p := range config.ContextPaths(i) {
			if at := slices.IndexFunc(kept, func(dir string) bool { return holds(p.Path, dir) }); at >= 0 {
				return fmt.Errorf("%s: context_paths: %s holds %s, where a server keeps what belongs to each session: agents of one could read those of others; name another folder", p.At, p.Path, kept[at])
			}
		}
	}
	if o.engine != nil && hasFolders(config) {
		o.console.Warn(config.File + ": workers play its turns, and have one folder for all sessions: clients see each other's files")
	}
	return nil
}

// holds reports whether a folder contains another, after all links are followed.
func holds(dir, other string) bool {
	if other == "" {
		return false
	}
	_, is := rootfs.Inside(real(other), real(dir))
	return is
}

// real returns a path without links and dots, as far as the path exists.
func real(path string) string {
	at, err := filepath.Abs(path)
	if err != nil {
		return path // whoever opens it meets the fault
	}
	if found, err := filepath.EvalSymlinks(at); err == nil {
		return found
	}
	if parent := filepath.Dir(at); parent != at {
		return filepath.Join(real(parent), filepath.Base(at))
	}
	return at
}
