package storetest_test

import (
	"testing"

	"github.com/massgen/massgen/sessions"
	"github.com/massgen/massgen/sessions/storetest"
)

func TestMemory(t *testing.T) {
	storetest.Run(t, func(*testing.T) sessions.Keeper { return sessions.NewMemory() })
}
