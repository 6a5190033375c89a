package workspace

import (
	"testing"

	"github.com/massgen/massgen/internal/tools/workspace/confine"
	"github.com/massgen/massgen/tests/leaks"
)

func TestMain(m *testing.M) {
	confine.Launcher()
	leaks.Main(m)
}
