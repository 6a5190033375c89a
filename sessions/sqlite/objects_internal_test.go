package sqlite

import (
	"database/sql"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/massgen/massgen/internal/storage/sqlstore"
)

var updateObjects = flag.Bool("update", false, "write the list of this version into schema if its objects are new")

// linesOf returns the objects of a database as lines.
func linesOf(t *testing.T, db *sql.DB) (lines []string) {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), "SELECT type, name, tbl_name, coalesce(sql, '') FROM sqlite_schema")
	must(t, err)
	defer rows.Close()
	for rows.Next() {
		var kind, name, table, statement string
		must(t, rows.Scan(&kind, &name, &table, &statement))
		lines = append(lines, objectLine(kind, name, table, statement))
	}
	must(t, rows.Err())
	return lines
}

// inMemory returns an empty database, and runs statements in it.
func inMemory(t *testing.T) (db *sql.DB, exec func(statements string) error) {
	t.Helper()
	db, err := sql.Open("sqlite", ":memory:")
	must(t, err)
	t.Cleanup(func() { must(t, db.Close()) })
	db.SetMaxOpenConns(1)
	return db, func(statements string) error {
		_, err := db.ExecContext(t.Context(), statements)
		return err
	}
}

// storeOf returns an empty store of a version, as its program made a new one.
func storeOf(t *testing.T, version int) (db *sql.DB, exec func(statements string) error) {
	t.Helper()
	db, exec = inMemory(t)
	statements, err := os.ReadFile(filepath.Join("testdata", fmt.Sprintf("%d.sql", version)))
	must(t, err)
	must(t, exec(string(statements)))
	return db, exec
}

// linesOfAll returns the objects of databases as lines, each line once.
func linesOfAll(t *testing.T, dbs ...*sql.DB) (lines []string) {
	t.Helper()
	for _, db := range dbs {
		for _, line := range linesOf(t, db) {
			if !slices.Contains(lines, line) {
				lines = append(lines, line)
			}
		}
	}
	return lines
}

// TestObjectsAreListed compares the lists of objects with the stores that this program makes, new
// ones and migrated ones, and with those that older programs made.
func TestObjectsAreListed(t *testing.T) {
	first, execFirst := storeOf(t, 1)
	want := map[int][]string{1: linesOfAll(t, first)}
	fifth, execFifth := storeOf(t, 5)
	must(t, steps().Apply(dialect("", 0), 1, 5, execFirst))
	want[5] = linesOfAll(t, fifth, first)
	made, exec := inMemory(t)
	must(t, steps().Apply(dialect("", 0), 0, sqlstore.Version, exec))
	must(t, steps().Apply(dialect("", 0), 5, sqlstore.Version, execFirst))
	must(t, steps().Apply(dialect("", 0), 5, sqlstore.Version, execFifth))
	want[sqlstore.Version] = linesOfAll(t, made, first, fifth)
	for version, lines := range want {
		text := strings.Join(lines, "\n") + "\n"
		got, err := os.ReadFile(listOf(version))
		must(t, err)
		if text != string(got) && *updateObjects {
			must(t, os.WriteFile(filepath.Join("schema", fmt.Sprintf("objects%d.txt", version)), []byte(text), 0o600))
		}
		if diff := cmp.Diff(text, string(got)); diff != "" {
			t.Errorf("%s is not as the program makes stores of version %d. A change of the tables is a new version, whose list -update writes (-want +got):\n%s", listOf(version), version, diff)
		}
	}
}

func TestOnOneLine(t *testing.T) {
	for statement, want := range map[string]string{
		"":                                       "",
		"a  b\n\t-- c\n\r\f d":                   "a b d",
		"a/* b */c/**/ /*/ d */e":                "a c e",
		"a -- to the end":                        "a",
		"a /* to the end":                        "a",
		"'a  -- b' \"c  /* d\" `e  f` [g  'h] i": "'a  -- b' \"c  /* d\" `e  f` [g  'h] i",
		"'it''s  a' -- 'b\n'c'":                  "'it''s  a' 'c'",
		"'no end  ":                              "'no end",
		"a - -b / *c":                            "a - -b / *c",
	} {
		if got := onOneLine(statement); got != want {
			t.Errorf("%q became %q, want %q", statement, got, want)
		}
	}
}
