package massgen

import (
	"os"
	"sync/atomic"

	"github.com/massgen/massgen/internal/tools/mcp"
	"github.com/massgen/massgen/internal/tools/workspace"
)

// launched reports whether the program has called Launcher. Load refuses commands and MCP servers in a program that has
// not: each start of one would run the program's main.
var launched atomic.Bool

// Launcher must be the first call in main, and in TestMain, if agents have commands or MCP servers that are programs:
// massgen starts these by running the program again. In such a process Launcher does not return. Other programs need
// no Launcher.
func Launcher() {
	workspace.Launcher()
	if status, handled := mcp.RunGuard(os.Args[1:]); handled {
		os.Exit(status)
	}
	launched.Store(true)
}
