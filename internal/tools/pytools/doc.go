// Package pytools runs functions of Python files as tools of an agent, as MassGen's custom_tools do. A helper
// process in Python has the functions and speaks MCP over stdio with the client of package mcp. On Linux it runs
// behind the fence of commands (workspace.Fenced): it writes to the agent's folder only, reads the folders of its
// files and Python's own, and has no network unless its tools ask for it.
package pytools
