package workspace

import (
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	Launcher()
	goleak.VerifyTestMain(m)
}
