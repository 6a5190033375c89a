package talk

import (
	"os"
	"testing"

	"github.com/massgen/massgen"
)

func TestMain(m *testing.M) {
	massgen.Launcher()
	os.Exit(m.Run())
}
