package configs

import (
	"path/filepath"
	"strings"
)

// WorkspacesFolder has a folder for each agent whose own would be another's, too. MassGen has it in the
// same place.
const WorkspacesFolder = ".massgen/workspaces"

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
		cwd = strings.TrimPrefix(cwd, WorkspacesFolder+"/")
		if !filepath.IsLocal(cwd) || cwd == "." {
			cwd = filepath.Base(cwd)
		}
		name := strings.Trim(cwd+"_"+agents[i].ID, "./")
		agents[i].Tools.CWD = filepath.Join(filepath.FromSlash(WorkspacesFolder), filepath.FromSlash(name))
	}
}
