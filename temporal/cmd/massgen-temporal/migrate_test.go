package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/massgen/massgen/internal/storage/sqlstore"
)

// setVersion makes the store of this world say that it has a version.
func (w *world) setVersion(version int) {
	w.t.Helper()
	conn, err := pgx.Connect(w.t.Context(), w.database)
	ok(w.t, err)
	_, err = conn.Exec(w.t.Context(), "UPDATE massgen_store SET version = $1", version)
	ok(w.t, err)
	ok(w.t, conn.Close(w.t.Context()))
}

// TestOnlyMigrateChangesTheSchema: clients and workers refuse an old store with the command, which upgrades
// it, and work with the versions before and after their own.
func TestOnlyMigrateChangesTheSchema(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	migrate := func(flags ...string) string {
		t.Helper()
		p := w.start("migrate", append([]string{"migrate"}, flags...)...)
		<-p.ended
		if status := p.ProcessState.ExitCode(); status != 0 {
			t.Fatalf("exit status %d: %s", status, p.stderr.String())
		}
		return p.stdout.String()
	}
	if out := migrate("--dry-run"); !strings.Contains(out, "-- version: none\n") || !strings.Contains(out, "CREATE TABLE sessions") {
		t.Errorf("a dry run on nothing: %s", out)
	}
	s := newService(t, alone)
	config := w.config(s.agents(1)...)
	w.worker("worker", config) // sets the store up
	if out := migrate(); !strings.Contains(out, fmt.Sprintf("-- version: %d\n", sqlstore.Version)) || !strings.HasSuffix(out, "-- nothing to do\n") {
		t.Errorf("a store that is up to date: %s", out)
	}
	w.setVersion(sqlstore.Version + 1)
	w.worker("another", config)
	if r := w.result(w.ask(config, "energy?")); r.Status != "completed" {
		t.Error(r.Status)
	}
	w.setVersion(4)
	w.ask(config, "energy?").refused(t, "was written by an older massgen (it has version 4, ", "run massgen-temporal migrate with the same --database")
	w.start("worker", "worker", "--config", config).refused(t, "run massgen-temporal migrate with the same --database")
	if out := migrate("--dry-run"); !strings.Contains(out, "-- from version 4 to 5: end all programs of version 4 first\n") || !strings.HasSuffix(out, "-- nothing was changed\n") {
		t.Errorf("a dry run on an old store: %s", out)
	}
	w.setVersion(99)
	p := w.start("migrate", "migrate")
	p.refused(t, "migrate: the store", "was written by a newer massgen (it has version 99, ", "update massgen")
}
