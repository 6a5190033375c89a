package storetest_test

import (
	"testing"

	"github.com/massgen/massgen/sessions"
	"github.com/massgen/massgen/tests/storetest"
)

func TestMemory(t *testing.T) {
	storetest.Run(t, func(*testing.T) sessions.Keeper { return sessions.NewMemory() })
}
