package sqlite_test

import (
	"testing"
	"time"

	"github.com/massgen/massgen/sessions"
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

// TestLongSessionsCostNoMore adds turns to a session of 10,000 turns and to one
// of 10, by turns: in the same file, on the same machine, at the same time.
func TestLongSessionsCostNoMore(t *testing.T) {
	length := 10_000
	if underRace() {
		length = 500
	}
	s := open(t, t.TempDir())
	longSession(t, s, "long", length)
	longSession(t, s, "short", 10)
	addTurn(t, s, "short") // with the texts that all turns share
	times, sizes := map[string]time.Duration{}, map[string]int64{}
	for _, id := range []string{"short", "long"} {
		before := compacted(t, s)
		for range 20 {
			addTurn(t, s, id)
		}
		sizes[id] = (compacted(t, s) - before) / 20
		times[id] = time.Hour
	}
	for range 20 {
		for id := range times {
			start := time.Now()
			addTurn(t, s, id)
			times[id] = min(times[id], time.Since(start))
		}
	}
	t.Logf("a turn takes %v and has %v bytes", times, sizes)
	if times["long"] > 2*times["short"] || sizes["long"] > sizes["short"]*5/4 {
		t.Errorf("a turn takes %v and has %v bytes", times, sizes)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if fastest := toContinue(t, s.Path(), length); fastest > 100*time.Millisecond {
		t.Errorf("to continue takes %s", fastest)
	}
}

// toContinue returns how long it takes to open a store, find its last session and
// begin a turn there: the best of three, since others use the machine too.
func toContinue(t *testing.T, path string, length int) time.Duration {
	t.Helper()
	fastest := time.Hour
	for range 3 {
		start := time.Now()
		s, err := sqlite.Open(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		list, err := s.List(t.Context(), sessions.Filter{Limit: 1})
		if err != nil || len(list) != 1 {
			t.Fatalf("the last session: %+v, %v", list, err)
		}
		b, err := s.Begin(t.Context(), "long", "q")
		if err != nil || b.Turn <= length {
			t.Fatalf("%+v, %v", b, err)
		}
		fastest = min(fastest, time.Since(start))
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	t.Log("to continue takes", fastest)
	return fastest
}
