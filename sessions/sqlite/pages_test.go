package sqlite_test

import (
	"database/sql"
	"flag"
	"path/filepath"
	"strings"
	"testing"

	"github.com/massgen/massgen/sessions"
	"github.com/massgen/massgen/sessions/sqlite"
	"github.com/massgen/massgen/tests/storetest"
)

// fill adds sessions of one turn past the store, a second apart.
func fill(t testing.TB, path string, from, to int) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err == nil {
		_, err = db.ExecContext(t.Context(), `
			CREATE TEMP TABLE n AS WITH RECURSIVE n (i) AS (SELECT $1 UNION ALL SELECT i + 1 FROM n WHERE i < $2) SELECT i FROM n;
			BEGIN;
			INSERT INTO sessions (name, title, parent, parent_turn, created, updated, turns, messages, calls, input_tokens, output_tokens, cached_tokens, unknown_calls, cost_usd)
			SELECT printf('old%08d', i), 'Of the sea ' || i, '', 0, i * 1000, i * 1000, 1, 2, 1, 10, 5, 0, 0, 0.25 FROM n;
			INSERT INTO texts (sha256, data) SELECT CAST(printf('%032d', i) AS BLOB), CAST('Question ' || i || ' about a harbour' AS BLOB) FROM n;
			INSERT INTO turns (session, number, question, winner, status, started, ended, messages, calls, input_tokens, output_tokens, cached_tokens, unknown_calls, cost_usd)
			SELECT sessions.id, 1, texts.id, '', 'failed', i * 1000, i * 1000, 2, 1, 10, 5, 0, 0, 0.25
			FROM n JOIN sessions ON name = printf('old%08d', i) JOIN texts ON sha256 = CAST(printf('%032d', i) AS BLOB);
			INSERT INTO refs (turn, text) SELECT turns.id, question FROM n JOIN sessions ON name = printf('old%08d', i) JOIN turns ON session = sessions.id;
			COMMIT;
			DROP TABLE n`, from+1, to)
	}
	if err == nil {
		err = db.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
}

// plan returns how SQLite reads a page.
func plan(t testing.TB, path string, f sessions.Filter) string {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	statement, args := sqlite.ListQuery(f)
	rows, err := db.QueryContext(t.Context(), "EXPLAIN QUERY PLAN "+statement, args...)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var lines []string
	for rows.Next() {
		var a, b, c int
		var line string
		if err := rows.Scan(&a, &b, &c, &line); err != nil {
			t.Fatal(err)
		}
		lines = append(lines, line)
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return strings.Join(lines, "\n")
}

// TestPages compares pages of small and big stores.
func TestPages(t *testing.T) {
	s := open(t, t.TempDir())
	storetest.Pages(t, s, func(t testing.TB, from, to int) { fill(t, s.Path(), from, to) }, func(t testing.TB, f sessions.Filter) {
		if found := plan(t, s.Path(), f); !strings.Contains(found, " sessions USING INDEX sessions_by_use") || strings.Contains(found, "B-TREE") {
			t.Errorf("SQLite reads more than the page:\n%s", found)
		}
	})
}

var many = flag.Int("many", 1000, "measure the pages of a store of so many sessions")

// TestMany prints figures: -run TestMany -many 1000000 -v.
func TestMany(t *testing.T) {
	path := filepath.Join(t.TempDir(), "many.db")
	storetest.Many(t, *many, func(t testing.TB) sessions.Keeper {
		s, err := sqlite.Open(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
		return s
	}, func(t testing.TB, from, to int) { fill(t, path, from, to) })
}
