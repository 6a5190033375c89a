package sqlite_test

import (
	"database/sql"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/massgen/massgen/sessions/sqlite"
)

const endless = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT "

// changes returns changes of a store's objects, each with the part of the error that names the
// object. They apply to all versions.
func changes() map[string]struct{ statements, object string } {
	return map[string]struct{ statements, object string }{
		"a view for a table":    {"ALTER TABLE metadata RENAME TO m; CREATE VIEW metadata AS " + endless + "m.* FROM m, c", `table "m"`},
		"a view as a table was": {"DROP TABLE metadata; CREATE VIEW metadata AS " + endless + "x AS session, x AS key, x AS value FROM c", `view "metadata"`},
		"another view":          {"DROP VIEW turn_texts; CREATE VIEW turn_texts (id, question, answer) AS " + endless + "x, x, x FROM c", `another view "turn_texts"`},
		"a trigger":             {"CREATE TRIGGER t AFTER INSERT ON turns BEGIN INSERT INTO metadata " + endless + "x, x, x FROM c; END", `trigger "t"`},
		"another trigger":       {"DROP TRIGGER turn_ended; CREATE TRIGGER turn_ended AFTER UPDATE ON turns BEGIN INSERT INTO metadata " + endless + "x, x, x FROM c; END", `another trigger "turn_ended"`},
		"a generated column":    {"ALTER TABLE sessions ADD COLUMN more INTEGER AS (length(hex(zeroblob(100000000))))", `another table "sessions"`},
		"a constraint": {
			"DROP TABLE metadata; CREATE TABLE metadata (session INTEGER, key TEXT, value TEXT CHECK (length(randomblob(1000000000)) > 0), PRIMARY KEY (session, key))",
			`another table "metadata"`,
		},
		"a default":         {"DROP TABLE metadata; CREATE TABLE metadata (session INTEGER, key TEXT, value TEXT DEFAULT (hex(zeroblob(100000000))), PRIMARY KEY (session, key))", `another table "metadata"`},
		"a virtual table":   {"DROP TABLE fact_search; CREATE VIRTUAL TABLE fact_search USING fts5 (text, content = 'turn_texts', content_rowid = 'id')", `another table "fact_search"`},
		"a table":           {"CREATE TABLE more (x)", `table "more"`},
		"an index":          {"CREATE INDEX more ON turns (abs(number)) WHERE length(hex(zeroblob(number))) > 1", `index "more"`},
		"another index":     {"DROP INDEX turns_running; CREATE INDEX turns_running ON turns (session) WHERE length(hex(zeroblob(number))) > 1", `another index "turns_running"`},
		"statistics":        {"ANALYZE", `table "sqlite_stat1"`},
		"no trigger":        {"DROP TRIGGER turn_deleted", `it lacks the trigger turn_deleted`},
		"no table":          {"DROP TABLE refs", `it lacks the table refs`},
		"odd names":         {"CREATE TABLE \"a\n\x1b[2Jb\" (x)", `table "a\n\x1b[2Jb"`},
		"a comment":         {"DROP TABLE refs; CREATE TABLE refs (turn INTEGER /* , */ , text INTEGER)", `another table "refs"`},
		"a table's index":   {"DROP INDEX refs_by_text; CREATE INDEX refs_by_text ON facts (text)", `another index "refs_by_text"`},
		"a schema's writer": {"PRAGMA writable_schema = 1; UPDATE sqlite_schema SET sql = 'CREATE VIEW turn_texts (id, question, answer) AS SELECT 1, 2, 3' WHERE name = 'turn_texts'", `another view "turn_texts"`},
	}
}

// TestChangedStoresAreRefused: a store with objects of another program is refused before a statement
// uses them, and its file stays as it is.
func TestChangedStoresAreRefused(t *testing.T) {
	t.Parallel()
	for kind, make := range map[string]func(*testing.T) string{
		"an old store": oldStore,
		"a store": func(t *testing.T) string {
			t.Helper()
			path := filepath.Join(t.TempDir(), "sessions.db")
			must(t, os.WriteFile(path, oneTurn(t), 0o600))
			return path
		},
	} {
		for name, c := range changes() {
			t.Run(name+" in "+kind, func(t *testing.T) {
				t.Parallel()
				path := make(t)
				execute(t, path, c.statements)
				before := filesIn(t, filepath.Dir(path))
				isRefused(t, path, c.object)
				if diff := cmp.Diff(before, filesIn(t, filepath.Dir(path))); diff != "" {
					t.Errorf("files have changed (-before +after):\n%.2000s", diff)
				}
			})
		}
	}
}

func isRefused(t *testing.T, path, object string) {
	t.Helper()
	s, err := sqlite.Open(t.Context(), path)
	if err == nil {
		t.Fatalf("it was opened: %v", s.Close())
	}
	for _, want := range []string{path + " was changed by another program: put a copy from before in its place, or name another file", object} {
		if !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("error %q, want one line with %q", err, want)
		}
	}
}

// TestChangeInTheLogIsRefused: a change counts that is in the log and not in the file yet.
func TestChangeInTheLogIsRefused(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "sessions.db")
	must(t, os.WriteFile(path, oneTurn(t), 0o600))
	db, err := sql.Open("sqlite", path)
	must(t, err)
	defer func() { must(t, db.Close()) }()
	_, err = db.ExecContext(t.Context(), "CREATE VIEW more AS "+endless+"x FROM c")
	must(t, err)
	isRefused(t, path, `view "more"`)
}

// TestStoreWithoutAnIndexIsOpened: the first stores of version 1 had no index of running turns.
func TestStoreWithoutAnIndexIsOpened(t *testing.T) {
	t.Parallel()
	path := oldStore(t)
	execute(t, path, "DROP INDEX turns_running")
	for range 2 { // migrated, and as a migrated one
		s, err := sqlite.Open(t.Context(), path)
		must(t, err)
		must(t, s.Close())
	}
}

// TestOtherCommentsAreNoChange: builds of one version have different comments in their tables.
func TestOtherCommentsAreNoChange(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "sessions.db")
	must(t, os.WriteFile(path, oneTurn(t), 0o600))
	execute(t, path, "PRAGMA writable_schema = 1; UPDATE sqlite_schema SET sql = replace(sql, '-- the user', '-- a person''s /* name') WHERE name = 'facts'")
	s, err := sqlite.Open(t.Context(), path)
	must(t, err)
	must(t, s.Close())
}

// TestListHoldsUntilTheNext: version 5 changed the tables of other databases only.
func TestListHoldsUntilTheNext(t *testing.T) {
	t.Parallel()
	path := storeFrom(t, 4, "5.sql")
	s, err := sqlite.Open(t.Context(), path)
	must(t, err)
	must(t, s.Close())
	path = storeFrom(t, 4, "5.sql")
	execute(t, path, "CREATE VIEW more AS "+endless+"x FROM c")
	isRefused(t, path, `view "more"`)
}
