package postgres_test

import (
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/massgen/massgen/internal/storage/sqlstore"
	"github.com/massgen/massgen/temporal/postgres"
)

// migrate upgrades the store in a schema.
func migrate(t *testing.T, schema string) postgres.Migration {
	t.Helper()
	m, err := postgres.Migrate(t.Context(), address(t, schema), false)
	ok(t, err)
	return m
}

// versionOf returns the version of the store in a schema.
func versionOf(t *testing.T, schema string) int {
	t.Helper()
	return int(value(t, "SELECT version FROM "+schema+".massgen_store").(int32))
}

// TestADryRunChangesNothing, neither an old store nor an empty schema, and prints what would be done.
func TestADryRunChangesNothing(t *testing.T) {
	const objects = "SELECT count(*) FROM pg_class WHERE relnamespace = to_regnamespace($1)"
	for name, c := range map[string]struct {
		schema string
		from   int
		want   string
	}{
		"an old store":    {oldStore(t), 3, "ADD COLUMN reasoning_tokens"},
		"an empty schema": {schema(t, t.TempDir()), 0, "CREATE TABLE sessions"},
	} {
		before := value(t, objects, c.schema)
		m, err := postgres.Migrate(t.Context(), address(t, c.schema), true)
		ok(t, err)
		var statements strings.Builder
		for _, s := range m.Steps {
			statements.WriteString(strings.Join(append(s.Indexes, s.Statements...), ";\n"))
		}
		if m.From != c.from || m.To != sqlstore.Version || !strings.Contains(statements.String(), c.want) {
			t.Errorf("%s: %+v", name, m)
		}
		if after := value(t, objects, c.schema); after != before || c.from > 0 && versionOf(t, c.schema) != c.from {
			t.Errorf("%s: %v objects, and then %v", name, before, after)
		}
	}
}

// TestStatementsOfADryRunMakeTheStore: an administrator may run them by hand.
func TestStatementsOfADryRunMakeTheStore(t *testing.T) {
	for name, schema := range map[string]string{"an old store": oldStore(t), "an empty schema": schema(t, t.TempDir())} {
		m, err := postgres.Migrate(t.Context(), address(t, schema), true)
		ok(t, err)
		conn, err := pgx.Connect(t.Context(), address(t, schema))
		ok(t, err)
		for _, s := range m.Steps {
			for _, statement := range append(s.Indexes, s.Statements...) {
				_, err := conn.Exec(t.Context(), statement)
				ok(t, err)
			}
		}
		ok(t, conn.Close(t.Context()))
		if m := migrate(t, schema); len(m.Steps) > 0 || m.From != sqlstore.Version {
			t.Errorf("%s: afterwards %+v", name, m)
		}
		s, err := postgres.Open(t.Context(), address(t, schema))
		ok(t, err)
		ok(t, s.Close())
	}
}

// TestManyMigrateOneStore: each step is done once.
func TestManyMigrateOneStore(t *testing.T) {
	name := oldStore(t)
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			if _, err := postgres.Migrate(t.Context(), address(t, name), false); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if version := versionOf(t, name); version != sqlstore.Version {
		t.Errorf("version %d", version)
	}
}

// TestOpenMigratesNothing: stores of the versions before and after this program's stay as they are.
func TestOpenMigratesNothing(t *testing.T) {
	name := schema(t, t.TempDir())
	m := migrate(t, name)
	for version := m.Oldest; version <= m.Newest; version++ {
		execute(t, "SET search_path = "+name+"; UPDATE massgen_store SET version = "+string(rune('0'+version)))
		s, err := postgres.Open(t.Context(), address(t, name))
		ok(t, err)
		_, err = s.AddFact(t.Context(), "u", "one fact")
		if err := errors.Join(err, s.Close()); err != nil {
			t.Error(err)
		}
		if now := versionOf(t, name); now != version {
			t.Errorf("version %d became %d", version, now)
		}
	}
	if m := migrate(t, name); m.From != m.Newest || len(m.Steps) > 0 || versionOf(t, name) != m.Newest {
		t.Errorf("a newer store: %+v", m)
	}
}

// TestATableInUseIsNotWaitedForLong: all who need the table would wait behind the migration.
func TestATableInUseIsNotWaitedForLong(t *testing.T) {
	name := oldStore(t)
	conn := connect(t)
	tx, err := conn.Begin(t.Context())
	ok(t, err)
	_, err = tx.Exec(t.Context(), "LOCK TABLE "+name+".sessions IN ACCESS SHARE MODE") // as a dump does
	ok(t, err)
	if _, err := postgres.Migrate(t.Context(), address(t, name), false); err == nil {
		t.Error("it was migrated")
	} else {
		says(t, err, "is in use by another program: try again later")
	}
	ok(t, errors.Join(tx.Rollback(t.Context()), conn.Close(t.Context())))
	migrate(t, name)
}

// TestStepsKeepToTheRule of sqlstore.Step.
func TestStepsKeepToTheRule(t *testing.T) {
	for from, step := range postgres.Steps() {
		if from >= 6 && step.Breaks != "" {
			t.Errorf("the step from version %d stops programs of that version: expand first, and contract with the next version", from)
		}
		for _, word := range []string{"DROP ", "RENAME ", "DELETE ", " TYPE "} {
			if strings.Contains(strings.ToUpper(step.Expand), word) {
				t.Errorf("the step from version %d has %q under Expand: %s", from, word, step.Expand)
			}
		}
	}
}

// TestMigrateNamesItselfOnce: the command that calls it puts its own name before the error.
func TestMigrateNamesItselfOnce(t *testing.T) {
	_, err := postgres.Migrate(t.Context(), "postgres://nobody@127.0.0.1:1/massgen", true)
	if err == nil || !strings.HasPrefix(err.Error(), "connect: the store massgen on 127.0.0.1:1, schema massgen is out of reach") {
		t.Error(err)
	}
}
