package sqlite_test

import (
	"flag"
	"path/filepath"
	"testing"

	"pgregory.net/rapid"

	"github.com/massgen/massgen/sessions"
	"github.com/massgen/massgen/sessions/sqlite"
	"github.com/massgen/massgen/tests/storetest"
)

func TestDiskDoesAsMemoryDoes(t *testing.T) {
	if checks := flag.Lookup("rapid.checks"); underRace() && checks.Value.String() == checks.DefValue {
		if err := checks.Value.Set("10"); err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := checks.Value.Set(checks.DefValue); err != nil {
				t.Error(err)
			}
		}()
	}
	storetest.RunAsMemory(t, func(rt *rapid.T) sessions.Keeper {
		s, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "sessions.db"))
		if err != nil {
			rt.Fatal(err)
		}
		rt.Cleanup(func() {
			if err := s.Close(); err != nil {
				rt.Error(err)
			}
		})
		return s
	})
}
