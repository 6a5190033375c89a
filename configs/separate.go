package configs

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/massgen/massgen/internal/coordination/kernel"
)

// workspacesFolder has a folder for each agent whose own would be another's, too. MassGen has it in the
// same place.
const workspacesFolder = ".massgen/workspaces"

// separateFolders gives each of several agents that share a folder one of its own, as MassGen does:
// .massgen/workspaces/NAME_ID.
func (k *checker) separateFolders() {
	agents := k.config.Agents
	shares := make([]bool, len(agents))
	for i, a := range agents {
		for j, other := range agents[:i] {
			if isWithin(a.Tools.CWD, other.Tools.CWD) || isWithin(other.Tools.CWD, a.Tools.CWD) {
				shares[i], shares[j] = true, true
			}
		}
	}
	for i, isShared := range shares {
		if !isShared {
			continue
		}
		cwd := filepath.ToSlash(filepath.Clean(agents[i].Tools.CWD))
		cwd = strings.TrimPrefix(cwd, workspacesFolder+"/")
		if !filepath.IsLocal(cwd) || cwd == "." {
			cwd = filepath.Base(cwd)
		}
		name := strings.Trim(cwd+"_"+agents[i].ID, "./")
		agents[i].Tools.CWD = filepath.Join(filepath.FromSlash(workspacesFolder), filepath.FromSlash(name))
	}
}

// Show shows a path to all agents. Those without a folder get one, in which they see it. If the path may be
// written to, the winner of a panel presents: nobody else would write there.
func (c *Config) Show(p ContextPath) {
	if i := slices.IndexFunc(c.Orchestrator.ContextPaths, p.same); i >= 0 {
		c.Orchestrator.ContextPaths[i].Write = c.Orchestrator.ContextPaths[i].Write || p.Write
	} else {
		c.Orchestrator.ContextPaths = append(slices.Clip(c.Orchestrator.ContextPaths), p)
	}
	for i, a := range c.Agents {
		if a.Tools.CWD == "" {
			c.Agents[i].Tools.CWD = filepath.Join(filepath.FromSlash(workspacesFolder), a.ID)
		}
	}
	if p.Write && len(c.Agents) > 1 && c.Orchestrator.Rules.Final == kernel.WinnerReuse {
		c.Orchestrator.Rules.Final = kernel.WinnerPresent
	}
}
