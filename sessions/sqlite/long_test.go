package sqlite_test

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	"github.com/massgen/massgen/internal/coordination/kernel"
	"github.com/massgen/massgen/sessions"
	"github.com/massgen/massgen/sessions/sqlite"
	"github.com/massgen/massgen/tests/storetest"
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

// TestPagesOfABranch outlive the session that they are from.
func TestPagesOfABranch(t *testing.T) {
	t.Parallel()
	memory := sessions.NewMemory()
	for i := range 205 {
		begun, err := memory.Begin(t.Context(), "long", fmt.Sprintf("Question %d?", i))
		if err != nil {
			t.Fatal(err)
		}
		if err := memory.End(t.Context(), "long", begun.Turn, sessions.Ended{Status: kernel.Completed, Winner: "a", Answer: "Yes.", MessageCount: 2}); err != nil {
			t.Fatal(err)
		}
	}
	var export bytes.Buffer
	if err := memory.Export(t.Context(), "long", &export); err != nil {
		t.Fatal(err)
	}
	s := open(t, t.TempDir())
	if _, err := s.Import(t.Context(), &export, ""); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Branch(t.Context(), "long", 202, "branch"); err != nil {
		t.Fatal(err)
	}
	if err := s.Delete(t.Context(), "long"); err != nil {
		t.Fatal(err)
	}
	turns, err := s.Turns(t.Context(), "branch", 0)
	if err != nil || len(turns) != 202 {
		t.Fatal(len(turns), err)
	}
	links, pages := 0, 0
	for link, err := range sessions.Chain(t.Context(), s, turns[201].Link) {
		if err != nil {
			t.Fatal(err)
		}
		links++
		if link.Page.Bytes == 0 {
			continue
		}
		pages++
		if _, err := s.Get(t.Context(), link.Page); err != nil {
			t.Errorf("the page of turn %d: %v", link.Turn, err)
		}
	}
	if links != 202 || pages != 2 {
		t.Errorf("%d links and %d pages", links, pages)
	}
	if err := errors.Join(s.Check(t.Context()), s.Close()); err != nil {
		t.Fatal(err)
	}
}
