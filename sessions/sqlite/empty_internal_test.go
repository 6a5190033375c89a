package sqlite

import (
	"bytes"
	"compress/gzip"
	"database/sql"
	"net/url"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/massgen/massgen/internal/storage/sqlstore"
)

// makeStore makes a store from the schema.
func makeStore(t *testing.T, path string) {
	t.Helper()
	db, err := connect(path, patience, url.Values{"_synchronous": {"OFF"}, "_pragma": {"journal_mode(OFF)"}})
	must(t, err)
	db.SetMaxOpenConns(1)
	must(t, migrate(t.Context(), db, steps(), sqlstore.Version))
	_, err = db.ExecContext(t.Context(), "PRAGMA journal_mode = WAL")
	must(t, err)
	must(t, db.Close())
}

// contentOf returns the objects of a store, the rows in it, and what marks its file.
func contentOf(t *testing.T, path string) (lines []string) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	must(t, err)
	defer func() { must(t, db.Close()) }()
	lines = linesOf(t, db)
	for _, name := range []string{"application_id", "user_version", "journal_mode", "page_size", "auto_vacuum", "encoding", "integrity_check"} {
		var value string
		must(t, db.QueryRowContext(t.Context(), "PRAGMA "+name).Scan(&value))
		lines = append(lines, name+" "+value)
	}
	tables, err := db.QueryContext(t.Context(), "SELECT name FROM sqlite_schema WHERE type = 'table' AND sql NOT LIKE 'CREATE VIRTUAL%'")
	must(t, err)
	defer tables.Close()
	var names []string
	for tables.Next() {
		var name string
		must(t, tables.Scan(&name))
		names = append(names, name)
	}
	must(t, tables.Err())
	for _, name := range names {
		var rows string
		must(t, db.QueryRowContext(t.Context(), `SELECT count(*) FROM "`+name+`"`).Scan(&rows))
		lines = append(lines, name+" "+rows)
	}
	return lines
}

// TestEmptyStoreIsAsTheSchemaMakesIt compares the embedded store with one from the schema.
func TestEmptyStoreIsAsTheSchemaMakesIt(t *testing.T) {
	made := filepath.Join(t.TempDir(), "made.db")
	makeStore(t, made)
	if *updateObjects {
		content, err := os.ReadFile(made)
		must(t, err)
		var packed bytes.Buffer
		w, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
		must(t, err)
		_, err = w.Write(content)
		must(t, err)
		must(t, w.Close())
		must(t, os.WriteFile(filepath.Join("schema", "empty.db.gz"), packed.Bytes(), 0o600))
		emptyStore = packed.Bytes()
	}
	embedded := filepath.Join(t.TempDir(), "embedded.db")
	must(t, createLocked(t.Context(), embedded))
	if diff := cmp.Diff(contentOf(t, made), contentOf(t, embedded)); diff != "" {
		t.Errorf("schema/empty.db.gz is not as the schema is: -update writes it anew (-made +embedded):\n%s", diff)
	}
}
