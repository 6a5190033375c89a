package tests

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"modernc.org/sqlite"
	"modernc.org/sqlite/vtab"

	"github.com/massgen/massgen/cmd/massgen/app"
)

// In the environment of a process that is no test: what it is, when it dies, how large a
// file it may write, the file in which one that lives counts its writes, and that in which a
// tool notes its calls.
const (
	killedRole   = "KILLED_ROLE"
	killedLimit  = "KILLED_LIMIT"
	killedAt     = "KILLED_AT"
	killedWrites = "KILLED_WRITES"
	killedEchoes = "KILLED_ECHOES"
)

// The roles.
const (
	roleProgram = "program"
	roleTools   = "tools"
)

// mortal is the program, which dies at the write that the environment names: "before 3"
// or "after 3". It returns its exit status if it lives.
func mortal() int {
	var d death
	if _, err := fmt.Sscan(os.Getenv(killedAt), &d.moment, &d.write); err != nil {
		panic(fmt.Sprintf("%s=%s: %v", killedAt, os.Getenv(killedAt), err))
	}
	if err := d.await(); err != nil {
		panic(err)
	}
	lift, err := limitFiles(os.Getenv(killedLimit))
	if err != nil {
		panic(err)
	}
	status := app.Main(append([]string{"massgen"}, os.Args[1:]...), app.System())
	if err := lift(); err != nil {
		panic(err)
	}
	if err := os.WriteFile(os.Getenv(killedWrites), fmt.Append(nil, d.writes), 0o600); err != nil {
		panic(err)
	}
	return status
}

// death kills its own process at one of the transactions that write to the store. SQLite
// tells it of each, since a virtual table takes part in it: before it is committed, and
// when it is on disk and nobody has been told. The store is not changed: the table, and
// the triggers that bring it in, are temporary ones of the store's one connection that
// writes, which also makes every call here come after the other.
type death struct {
	moment        string
	write, writes int
}

func (d *death) await() error {
	if err := vtab.RegisterModule(nil, "death", d); err != nil {
		return err
	}
	sqlite.RegisterConnectionHook(func(c sqlite.ExecQuerierContext, dsn string) error {
		if !strings.Contains(dsn, "_txlock=immediate") {
			return nil
		}
		// The driver makes its modules known only after this, so that CREATE would fail.
		script := "PRAGMA trusted_schema = ON;" + // triggers may use the table
			"PRAGMA writable_schema = ON;" +
			"INSERT INTO temp.sqlite_schema VALUES ('table', 'death', 'death', 0, 'CREATE VIRTUAL TABLE death USING death');" +
			"PRAGMA writable_schema = RESET;"
		for _, table := range []string{"events", "turns", "sessions", "metadata", "facts"} {
			for _, change := range []string{"INSERT", "UPDATE", "DELETE"} {
				script += fmt.Sprintf("CREATE TEMP TRIGGER %s_%s AFTER %[2]s ON main.%[1]s BEGIN INSERT INTO death VALUES (0); END;", table, change)
			}
		}
		_, err := c.ExecContext(context.Background(), script, nil)
		return err
	})
	return nil
}

// Sync comes before the commit, Commit after it.
func (d *death) Sync() error {
	d.writes++
	d.comes("before")
	return nil
}

func (d *death) Commit() error {
	d.comes("after")
	return nil
}

func (d *death) comes(moment string) {
	if moment != d.moment || d.writes != d.write {
		return
	}
	self, err := os.FindProcess(os.Getpid())
	if err == nil {
		err = self.Kill()
	}
	if err != nil {
		panic(err)
	}
	select {} // nothing follows, also if the signal takes its time
}

// The rest of a virtual table does nothing.

func (d *death) Create(c vtab.Context, _ []string) (vtab.Table, error) {
	return d, c.Declare("CREATE TABLE death (of)")
}

func (d *death) Connect(c vtab.Context, args []string) (vtab.Table, error) { return d.Create(c, args) }

func (d *death) Insert([]vtab.Value, *int64) error        { return nil }
func (d *death) Update(int64, []vtab.Value, *int64) error { return nil }
func (d *death) Delete(int64) error                       { return nil }
func (d *death) Begin() error                             { return nil }
func (d *death) Rollback() error                          { return nil }
func (d *death) Savepoint(int) error                      { return nil }
func (d *death) Release(int) error                        { return nil }
func (d *death) RollbackTo(int) error                     { return nil }
func (d *death) BestIndex(*vtab.IndexInfo) error          { return nil }
func (d *death) Disconnect() error                        { return nil }
func (d *death) Destroy() error                           { return nil }

func (d *death) Open() (vtab.Cursor, error) { return nil, errors.New("nobody reads death") }
