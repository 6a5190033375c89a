package sqlite_test

import (
	"bytes"
	"database/sql"
	"errors"
	"testing"
	"time"

	"github.com/massgen/massgen/sessions"
)

// hidden turns a session into what a process leaves that dies between two batches of an import.
func hidden(t *testing.T, path, id string, updated time.Time) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	must(t, err)
	result, err := db.ExecContext(t.Context(), "UPDATE sessions SET name = char(31) || name, title = '', turns = 0, head = NULL, messages = 0, updated = ? WHERE name = ?", updated.UnixMilli(), id)
	must(t, err)
	if n, err := result.RowsAffected(); n != 1 || err != nil {
		t.Fatal(n, err)
	}
	must(t, db.Close())
}

// TestLostImportsAreNotSeen: a process that dies while it imports a session leaves nothing that anybody
// sees, and Compact deletes it when no import can go on with it.
func TestLostImportsAreNotSeen(t *testing.T) {
	t.Parallel()
	s := open(t, t.TempDir())
	longSession(t, s, "lost", 250)
	hidden(t, s.Path(), "lost", time.Now())
	list, err := s.List(t.Context(), sessions.Filter{})
	must(t, err)
	hits, err := s.Search(t.Context(), "what", sessions.Filter{})
	must(t, err)
	if len(list) != 0 || len(hits) != 0 {
		t.Errorf("%d sessions are listed, and %d hits are found", len(list), len(hits))
	}
	if _, err := s.Session(t.Context(), "lost"); !errors.Is(err, sessions.ErrNoSession) {
		t.Error(err)
	}
	must(t, s.Check(t.Context()))
	longSession(t, s, "lost", 250)
	must(t, s.Delete(t.Context(), "lost"))
	if n := rows(t, s.Path(), "turns"); n != 250 {
		t.Errorf("an import that may go on has %d turns left, want 250", n)
	}
	db, err := sql.Open("sqlite", s.Path())
	must(t, err)
	_, err = db.ExecContext(t.Context(), "UPDATE sessions SET updated = ?", time.Now().Add(-time.Hour).UnixMilli())
	must(t, err)
	must(t, db.Close())
	must(t, s.Compact(t.Context()))
	for _, table := range []string{"sessions", "turns", "events", "refs", "texts", "metadata"} {
		if n := rows(t, s.Path(), table); n != 0 {
			t.Errorf("%s has %d rows of a lost import", table, n)
		}
	}
	must(t, s.Check(t.Context()))
	must(t, s.Close())
}

func rows(t *testing.T, path, table string) (n int) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	must(t, err)
	must(t, db.QueryRowContext(t.Context(), "SELECT count(*) FROM "+table).Scan(&n))
	must(t, db.Close())
	return n
}

// TestLongJournalsAreImportedInBatches: a turn with many events takes more than one batch.
func TestLongJournalsAreImportedInBatches(t *testing.T) {
	t.Parallel()
	s := open(t, t.TempDir())
	begun, err := s.Begin(t.Context(), "a", "a question")
	must(t, err)
	var events [][]byte
	for range 2500 {
		events = append(events, []byte(`{"type":"test"}`))
	}
	must(t, s.Append(t.Context(), "a", begun.Turn, events...))
	must(t, s.End(t.Context(), "a", begun.Turn, sessions.Ended{Status: "completed", Winner: "a", Answer: "an answer"}))
	var data bytes.Buffer
	must(t, s.Export(t.Context(), "a", &data))
	_, err = s.Import(t.Context(), &data, "copy")
	must(t, err)
	journal, err := s.Journal(t.Context(), "copy", 1, 0)
	must(t, err)
	if len(journal) != len(events) {
		t.Errorf("the copy has %d events, want %d", len(journal), len(events))
	}
	must(t, s.Check(t.Context()))
	must(t, s.Close())
}
