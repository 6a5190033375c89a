package configs_test

import (
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/massgen/massgen/configs"
)

// Each relative path of a configuration is seen from the other folder, and nothing else changes.
func TestPathsFromAnotherFolder(t *testing.T) {
	t.Parallel()
	elsewhere := t.TempDir()
	const text = `
agents:
  - id: a
    backend: {type: demo, cwd: a, context_paths: [{path: ../shown}], mcp_servers: [{name: own, type: stdio, command: ./own}]}
  - id: b
    backend: {type: demo, cwd: /absolute}
mcp_servers: [{name: all, type: stdio, command: docs, cwd: tools}, {name: web, url: "http://127.0.0.1:1"}]
orchestrator: {context_paths: [{path: docs}], snapshot_storage: kept, agent_temporary_workspace: temp}
`
	c, err := configs.Parse("f.yaml", []byte(text), configs.Options{})
	if err != nil {
		t.Fatal(err)
	}
	c.From(elsewhere)
	own, all := c.Agents[0].Tools, c.Servers
	got := []string{
		own.CWD, own.ContextPaths[0].Path, own.Servers[0].Command, own.Servers[0].CWD, c.Agents[1].Tools.CWD, all[0].Command, all[0].CWD, all[1].CWD,
		c.Orchestrator.ContextPaths[0].Path, c.Orchestrator.SnapshotStorage, c.Orchestrator.AgentTemporaryWorkspace,
	}
	in := func(name string) string { return filepath.Join(elsewhere, name) }
	want := []string{
		in("a"), in("../shown"), "./own", elsewhere, "/absolute", "docs", in("tools"), "", in("docs"), in("kept"), in("temp"),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
