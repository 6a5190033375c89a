package app

import (
	"fmt"
	"path/filepath"

	"github.com/massgen/massgen/agents/workspace"
	"github.com/massgen/massgen/agents/workspace/snapshot"
	"github.com/massgen/massgen/coordinator"
)

// workFolders are those that an agent with a workspace works in. Its tools name their own
// files from there, but peers are told of snapshots by whole paths.
func workFolders(w *workspace.Workspace, storage snapshot.Storage) []coordinator.Folder {
	return []coordinator.Folder{
		{Key: "cwd", Dir: w.Dir()},
		{Key: "snapshot_storage", Dir: storage.Dir(), ByPath: true},
	}
}

// addServerFolders adds the folders that MCP servers run in, where the config names one.
func (b *toolbox) addServerFolders(servers []wanted) error {
	for _, w := range servers {
		if w.server.CWD == "" || w.server.Command == "" {
			continue
		}
		dir, err := filepath.Abs(w.server.CWD)
		if err != nil {
			return w.fault(b.config, fmt.Errorf("MCP server %q: its cwd: %w", w.server.Name, err))
		}
		for i := range b.folders {
			if w.agent == i || w.agent == ofAll {
				b.folders[i] = append(b.folders[i], coordinator.Folder{Key: "cwd of the MCP server " + w.server.Name, Dir: dir})
			}
		}
	}
	return nil
}
