package sqlite_test

import (
	"testing"

	"github.com/massgen/massgen/sessions/sqlite"
	"github.com/massgen/massgen/sessions/storetest"
)

// longSession fills a session with turns: by an import, which is one transaction.
func longSession(t testing.TB, s *sqlite.Store, id string, turns int) {
	t.Helper()
	if _, err := s.Import(t.Context(), storetest.LongSession(t, id, turns), ""); err != nil {
		t.Fatal(err)
	}
}

// TestLongSessionsTakeNoMoreSpace adds turns to a session of 10,000 turns and to one
// of 10, in the same file. BenchmarkTurn shows that they take no more time.
func TestLongSessionsTakeNoMoreSpace(t *testing.T) {
	t.Parallel()
	length := 10_000
	if underRace() {
		length = 500
	}
	s := open(t, t.TempDir())
	longSession(t, s, "long", length)
	longSession(t, s, "short", 10)
	addTurn(t, s, "short") // with the texts that all turns share
	sizes := map[string]int64{}
	for _, id := range []string{"short", "long"} {
		before := compacted(t, s)
		for range 20 {
			addTurn(t, s, id)
		}
		sizes[id] = (compacted(t, s) - before) / 20
	}
	t.Logf("a turn has %v bytes", sizes)
	if sizes["long"] > sizes["short"]*5/4 {
		t.Errorf("a turn has %v bytes", sizes)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}
