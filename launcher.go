package massgen

import (
	"os"

	"github.com/massgen/massgen/internal/mcp"
	"github.com/massgen/massgen/internal/workspace/confine"
)

// Launcher is what main, and TestMain, call before anything else, where agents have commands
// or MCP servers: these are started by way of the program itself. It does not return in a
// process that was started as one.
func Launcher() {
	confine.Launcher()
	if status, handled := mcp.RunGuard(os.Args[1:]); handled {
		os.Exit(status)
	}
}
