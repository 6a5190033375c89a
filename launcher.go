package massgen

import (
	"os"

	"github.com/massgen/massgen/internal/tools/mcp"
	"github.com/massgen/massgen/internal/tools/workspace"
)

// Launcher must be the first call in main, and in TestMain, if agents have commands or MCP
// servers: massgen starts these by running the program again. In such a process Launcher does
// not return.
func Launcher() {
	workspace.Launcher()
	if status, handled := mcp.RunGuard(os.Args[1:]); handled {
		os.Exit(status)
	}
}
