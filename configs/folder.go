package configs

import (
	"path/filepath"
	"strings"
)

// From makes the paths of the configuration, which are relative to the current folder, relative to
// another one.
func (c *Config) From(folder string) {
	from := func(path *string) {
		if *path != "" && !filepath.IsAbs(*path) && !strings.HasPrefix(*path, agentFolder) {
			*path = filepath.Join(folder, *path)
		}
	}
	servers := func(list []MCPServer) {
		for i := range list {
			if list[i].Command != "" && list[i].CWD == "" {
				list[i].CWD = folder
			}
			from(&list[i].CWD)
		}
	}
	shown := func(list []ContextPath) {
		for i := range list {
			from(&list[i].Path)
		}
	}
	from(&c.Orchestrator.SnapshotStorage)
	from(&c.Orchestrator.AgentTemporaryWorkspace)
	shown(c.Orchestrator.ContextPaths)
	servers(c.Servers)
	for i := range c.Agents {
		t := &c.Agents[i].Tools
		from(&t.CWD)
		shown(t.ContextPaths)
		servers(t.Servers)
	}
}
