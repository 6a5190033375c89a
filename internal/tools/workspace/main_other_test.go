//go:build !linux

package workspace

import (
	"testing"

	"github.com/massgen/massgen/tests/leaks"
)

func TestMain(m *testing.M) {
	Launcher()
	leaks.Main(m)
}
