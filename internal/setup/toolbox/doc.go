// Package toolbox opens the tools and folders of a configuration's agents: workspaces, context
// paths, snapshots of their work, and MCP servers. It also decides which tool calls may run.
package toolbox
