package postgres_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"flag"
	"fmt"
	"net/url"
	"os"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"pgregory.net/rapid"

	"github.com/massgen/massgen/sessions"
	"github.com/massgen/massgen/temporal/postgres"
	"github.com/massgen/massgen/tests/leaks"
	"github.com/massgen/massgen/tests/storetest"
)

// databaseVariable names a database in which the tests may make schemas.
const databaseVariable = "MASSGEN_TEST_DATABASE"

func TestMain(m *testing.M) {
	if os.Getenv(databaseVariable) == "" {
		fmt.Fprintf(os.Stderr, "%s names no database: run these tests with scripts/postgres.sh, which starts one\n", databaseVariable)
		os.Exit(1)
	}
	if os.Getenv(writerName) == "" {
		leaks.Main(m)
		return
	}
	if err := writeTurns(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// address returns the address of a schema of the database.
func address(t testing.TB, schema string) string {
	t.Helper()
	at, err := url.Parse(os.Getenv(databaseVariable))
	if err != nil {
		t.Fatal(err)
	}
	query := at.Query()
	query.Set("search_path", schema)
	query.Set("idle_in_transaction_session_timeout", "5min") // no process is lost that is only slow
	at.RawQuery = query.Encode()
	return at.String()
}

// schema returns the name of a schema for a place. It goes after the test that was the
// first to ask for it.
func schema(t testing.TB, place string) string {
	t.Helper()
	sum := sha256.Sum256([]byte(place))
	name := "test_" + hex.EncodeToString(sum[:8])
	if value(t, "SELECT to_regnamespace($1) IS NULL", name) == true {
		execute(t, "CREATE SCHEMA "+name)
		t.Cleanup(func() { execute(t, "DROP SCHEMA "+name+" CASCADE") })
	}
	return name
}

// connect connects to the database, past the store.
func connect(t testing.TB) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(context.WithoutCancel(t.Context()), os.Getenv(databaseVariable))
	if err != nil {
		t.Fatal(err)
	}
	return conn
}

// execute runs statements in the database, past the store.
func execute(t testing.TB, statements string) {
	t.Helper()
	conn := connect(t)
	_, err := conn.Exec(context.WithoutCancel(t.Context()), statements)
	if err := errors.Join(err, conn.Close(context.WithoutCancel(t.Context()))); err != nil {
		t.Fatal(err)
	}
}

// value returns what a query returns, past the store.
func value(t testing.TB, query string, args ...any) (found any) {
	t.Helper()
	conn := connect(t)
	err := conn.QueryRow(t.Context(), query, args...).Scan(&found)
	if err := errors.Join(err, conn.Close(t.Context())); err != nil {
		t.Fatal(err)
	}
	return found
}

// schemaOf returns the schema that a store is in.
func schemaOf(t testing.TB, s *postgres.Store) string {
	t.Helper()
	_, place := s.Database()
	_, schema, found := strings.Cut(place, "schema ")
	if !found {
		t.Fatalf("the store %s has no schema", place)
	}
	return schema
}

// open opens the store in a place, and closes it after the test.
func open(t testing.TB, place string) *postgres.Store {
	t.Helper()
	s, err := postgres.Open(t.Context(), address(t, schema(t, place)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func TestConformance(t *testing.T) {
	t.Parallel()
	storetest.RunLasting(t, func(t *testing.T, dir string) sessions.Keeper { return open(t, dir) })
}

func TestDatabaseDoesAsMemoryDoes(t *testing.T) {
	t.Parallel()
	if checks := flag.Lookup("rapid.checks"); checks.Value.String() == checks.DefValue { // each makes a store
		ok(t, checks.Value.Set("10")) // as the only parallel test that reads the flag
		defer func() { ok(t, checks.Value.Set(checks.DefValue)) }()
	}
	storetest.RunAsMemory(t, func(rt *rapid.T) sessions.Keeper {
		s, err := postgres.Open(t.Context(), address(t, schema(t, t.TempDir())))
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
