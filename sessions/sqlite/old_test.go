package sqlite_test

import (
	"bytes"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/massgen/massgen/sessions"
	"github.com/massgen/massgen/sessions/sqlite"
)

// oldStore makes a store of version 1, with rows that a program of that version wrote.
func oldStore(t *testing.T) (path string) {
	t.Helper()
	return storeFrom(t, 1, "1.sql", "rows.sql")
}

// storeFrom makes a store of a version from files of statements.
func storeFrom(t *testing.T, version int, files ...string) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "sessions.db")
	statements := []string{"PRAGMA journal_mode = WAL"}
	for _, file := range files {
		data, err := os.ReadFile(filepath.Join("testdata", file))
		must(t, err)
		statements = append(statements, string(data))
	}
	execute(t, path, append(statements, "PRAGMA application_id = 0x6d617373", fmt.Sprintf("PRAGMA user_version = %d", version))...)
	return path
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// execute runs statements in a file, past the store.
func execute(t *testing.T, path string, statements ...string) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	must(t, err)
	defer func() { must(t, db.Close()) }()
	for _, statement := range statements {
		_, err := db.ExecContext(t.Context(), statement)
		must(t, err)
	}
}

// TestOldStoreIsBroughtUpToDate: one of version 1 has all that was in it, and goes on.
func TestOldStoreIsBroughtUpToDate(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s, err := sqlite.Open(ctx, oldStore(t))
	must(t, err)
	defer func() { must(t, s.Close()) }()
	must(t, s.Check(ctx))
	for _, id := range []string{"parent", "branch"} {
		want, err := os.ReadFile(filepath.Join("testdata", id+".jsonl"))
		must(t, err)
		var got bytes.Buffer
		must(t, s.Export(ctx, id, &got))
		if diff := cmp.Diff(string(want), got.String()); diff != "" {
			t.Errorf("session %s (-old +new):\n%s", id, diff)
		}
	}
	facts, err := s.SearchFacts(ctx, "user", "sea")
	if err != nil || len(facts) != 1 || facts[0].Text != "Lives by the sea." {
		t.Errorf("facts %+v, %v", facts, err)
	}
	hits, err := s.Search(ctx, "moon", sessions.Filter{})
	if err != nil || len(hits) != 2 {
		t.Errorf("hits %+v, %v", hits, err)
	}
	b, err := s.Resume(ctx, "branch")
	must(t, err)
	must(t, writeTurn(ctx, s, "branch", b.Turn, "the end"))
	journal, err := s.Journal(ctx, "branch", b.Turn, 0)
	if err != nil || len(journal) != 3 || !bytes.Contains(journal[2], []byte("the end")) {
		t.Errorf("the journal %q, %v", journal, err)
	}
	for _, id := range []string{"parent", "branch"} {
		must(t, s.Delete(ctx, id))
	}
	if _, err := s.Get(ctx, sessions.RefOf([]byte("text 1"))); err == nil {
		t.Error("a text is there that nothing names")
	}
	must(t, s.Check(ctx))
}

// TestOldStoreBecomesLikeANewOne: a migrated store has the tables of a new one.
func TestOldStoreBecomesLikeANewOne(t *testing.T) {
	t.Parallel()
	shape := func(path string) string {
		s, err := sqlite.Open(t.Context(), path)
		must(t, err)
		must(t, s.Close())
		db, err := sql.Open("sqlite", path)
		must(t, err)
		defer func() { must(t, db.Close()) }()
		var found string
		must(t, db.QueryRowContext(t.Context(), `
			SELECT group_concat(line, char(10)) FROM (
				SELECT concat_ws(' ', s.type, s.name, t.name, t.type, t."notnull", t.dflt_value, t.pk) AS line
				FROM sqlite_schema AS s, pragma_table_xinfo(s.name) AS t WHERE s.type = 'table'
				UNION ALL SELECT concat_ws(' ', 'index of', s.name, i."unique", i.partial, x.name)
				FROM sqlite_schema AS s, pragma_index_list(s.name) AS i, pragma_index_xinfo(i.name) AS x WHERE s.type = 'table'
				UNION ALL SELECT concat_ws(' ', s.name, f."from", f."table", f."to")
				FROM sqlite_schema AS s, pragma_foreign_key_list(s.name) AS f WHERE s.type = 'table'
				UNION ALL SELECT concat_ws(' ', type, name, sql) FROM sqlite_schema WHERE type IN ('trigger', 'view')
				ORDER BY line)`).Scan(&found))
		return found
	}
	want := shape(filepath.Join(t.TempDir(), "new.db"))
	for version, path := range map[int]string{1: oldStore(t), 5: storeFrom(t, 5, "5.sql")} {
		if diff := cmp.Diff(want, shape(path)); diff != "" || len(want) < 1000 {
			t.Errorf("the tables of version %d (-new +old), %d bytes:\n%s", version, len(want), diff)
		}
	}
}
