// Package mcpservers has agents use MCP servers that others wrote: the protocol's own
// servers "everything", over stdio and HTTP, and "filesystem", and one that searches with
// SearXNG. It also has others use the
// MCP server that massgen is: the official client and conformance suite. The tests need what
// scripts/mcp.sh installs, so they are behind the build tag "mcpservers"; the script
// runs them.
package mcpservers
