package talk

import (
	"os"
	"testing"

	"github.com/massgen/massgen"
)

// TestMain starts the MCP servers of the tests, too.
func TestMain(m *testing.M) {
	massgen.Launcher()
	os.Exit(m.Run())
}
