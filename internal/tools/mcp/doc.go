// Package mcp makes the tools of MCP servers into tools of agents. It runs a server
// as a child process (stdio), or calls one over HTTP (streamable), by the official
// Go SDK of the Model Context Protocol.
//
// A server is not trusted to work: it may die, hang, flood, print what is no message
// and lie about its tools. Each of these costs the call that meets it, or the tool,
// or at worst the server, with one line that says why; none costs the turn, and what
// a server sends is bounded before it is kept. See [Client].
//
// No process of a server outlives the program. A server runs under a guard, which is
// the program itself, started again ([Launcher], [RunGuard]): it holds a pipe to its
// parent, and ends the server and what that has started when the pipe closes, as it
// does however the program ends.
package mcp
