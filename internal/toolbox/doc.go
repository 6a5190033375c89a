// Package toolbox opens what the agents of a configuration work with: their workspaces, the
// folders that they are shown, snapshots of their work, and MCP servers; and it says which
// calls of tools may run.
package toolbox
