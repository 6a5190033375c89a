package sqlite

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/massgen/massgen/internal/coordination/budget"
	"github.com/massgen/massgen/internal/coordination/kernel"
	"github.com/massgen/massgen/internal/storage/sqlstore"
	"github.com/massgen/massgen/sessions"
)

func open(t *testing.T) *Store {
	t.Helper()
	return openFile(t, filepath.Join(t.TempDir(), "sessions.db"))
}

// openFile opens the store in a file and closes it after the test.
func openFile(t *testing.T, path string) *Store {
	t.Helper()
	s, err := Open(t.Context(), path)
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

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// event puts a text and appends an event that names it.
func event(ctx context.Context, s *Store, id string, turn int, text string) error {
	ref, err := s.Put(ctx, []byte(text))
	if err != nil {
		return err
	}
	return s.Append(ctx, id, turn, fmt.Appendf(nil, `{"text":{"sha256":"%s","bytes":%d}}`, ref.SHA256, ref.Bytes))
}

var done = sessions.Ended{Status: kernel.Completed, Winner: "a", Answer: "the answer", Usage: budget.Usage{Calls: 1}}

// snapshot is all that is stored, as text.
func snapshot(t *testing.T, s *Store) string {
	t.Helper()
	var b strings.Builder
	for _, table := range []string{"texts", "sessions", "metadata", "turns", "events", "refs", "facts", "turn_search", "title_search", "fact_search"} {
		rows, err := s.db.Read.QueryContext(t.Context(), "SELECT * FROM "+table)
		must(t, err)
		columns, err := rows.Columns()
		must(t, err)
		for rows.Next() {
			values, to := make([]any, len(columns)), make([]any, len(columns))
			for i := range values {
				to[i] = &values[i]
			}
			must(t, rows.Scan(to...))
			fmt.Fprintf(&b, "%s: %v\n", table, values)
		}
		must(t, rows.Err())
		must(t, rows.Close())
	}
	return b.String()
}

// operations are all that writes, each with what must be there before.
var operations = map[string]struct {
	before, run func(context.Context, *Store) error
}{
	"the first event": {func(ctx context.Context, s *Store) error {
		_, err := s.Begin(ctx, "Dan|app_user", "q")
		return err
	}, func(ctx context.Context, s *Store) error { return event(ctx, s, "Dan|app_user", 1, "new") }},
	"an event": {func(ctx context.Context, s *Store) error {
		_, err := s.Begin(ctx, "s", "q")
		return errors.Join(err, event(ctx, s, "s", 2, "first"))
	}, func(ctx context.Context, s *Store) error { return event(ctx, s, "s", 2, "second") }},
	"the end": {nothing, func(ctx context.Context, s *Store) error {
		b, err := s.Begin(ctx, "s", "q")
		if err != nil {
			return err
		}
		return s.End(ctx, "s", b.Turn, done)
	}},
	"a branch": {nothing, func(ctx context.Context, s *Store) error {
		_, err := s.Branch(ctx, "s", 1, "branch")
		return err
	}},
	"delete": {nothing, func(ctx context.Context, s *Store) error { return s.Delete(ctx, "s") }},
	"title":  {nothing, func(ctx context.Context, s *Store) error { return s.SetTitle(ctx, "s", "t") }},
	"metadata": {nothing, func(ctx context.Context, s *Store) error {
		return s.SetMetadata(ctx, "s", map[string]string{"k": "w", "l": "v"})
	}},
	"a fact": {nothing, func(ctx context.Context, s *Store) error {
		_, err := s.AddFact(ctx, "u", "new")
		return err
	}},
	"forget": {nothing, func(ctx context.Context, s *Store) error { return s.Forget(ctx, 1) }},
	"import": {nothing, func(ctx context.Context, s *Store) error {
		var b bytes.Buffer
		if err := s.Export(ctx, "s", &b); err != nil {
			return err
		}
		_, err := s.Import(ctx, &b, "copy")
		return err
	}},
}

func nothing(context.Context, *Store) error { return nil }

// write is one kind of write.
type write struct{ what, table string }

// prepared is a store with a session and a fact, ready for an operation.
func prepared(t *testing.T, before func(context.Context, *Store) error) *Store {
	t.Helper()
	s, ctx := open(t), t.Context()
	_, err := s.Begin(ctx, "s", "one")
	must(t, err)
	must(t, event(ctx, s, "s", 1, "a text"))
	must(t, s.End(ctx, "s", 1, done))
	must(t, s.SetMetadata(ctx, "s", map[string]string{"k": "v"}))
	_, err = s.AddFact(ctx, "u", "a fact")
	must(t, err)
	must(t, before(ctx, s))
	return s
}

// writesOf returns the kinds of writes that an operation does.
func writesOf(t *testing.T, before, run func(context.Context, *Store) error) (found []write) {
	t.Helper()
	s, ctx := prepared(t, before), t.Context()
	must(t, s.db.Exec(ctx, "CREATE TEMP TABLE writes (what, tabl, UNIQUE (what, tabl))"))
	for _, table := range []string{"texts", "sessions", "metadata", "turns", "events", "refs", "facts"} {
		for _, what := range []string{"INSERT", "UPDATE", "DELETE"} {
			must(t, s.db.Exec(ctx, fmt.Sprintf(
				"CREATE TEMP TRIGGER %[1]s_%[2]s AFTER %[1]s ON main.%[2]s BEGIN INSERT OR IGNORE INTO writes VALUES ('%[1]s', '%[2]s'); END", what, table)))
		}
	}
	must(t, run(ctx, s))
	found, err := sqlstore.Few(ctx, s.db, "read the writes", func(rows *sql.Rows) (w write, err error) {
		err = rows.Scan(&w.what, &w.table)
		return w, err
	}, "SELECT * FROM temp.writes")
	must(t, err)
	return found
}

// TestChangesAreWholeOrNotAtAll has each operation fail at each kind of write
// within it, and then succeed.
func TestChangesAreWholeOrNotAtAll(t *testing.T) {
	t.Parallel()
	for name, op := range operations {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			writes := writesOf(t, op.before, op.run)
			if len(writes) == 0 {
				t.Fatal("it writes nothing")
			}
			s, ctx := prepared(t, op.before), t.Context()
			before := snapshot(t, s)
			for _, w := range writes {
				must(t, s.db.Exec(ctx, fmt.Sprintf(
					"CREATE TEMP TRIGGER fault AFTER %s ON main.%s BEGIN SELECT RAISE(ABORT, 'injected'); END", w.what, w.table)))
				failed := op.run(ctx, s)
				must(t, s.db.Exec(ctx, "DROP TRIGGER fault"))
				if failed == nil || !strings.Contains(failed.Error(), "injected") || !strings.Contains(failed.Error(), s.Path()) {
					t.Errorf("%s of %s: %v", w.what, w.table, failed)
				}
				if diff := cmp.Diff(before, snapshot(t, s)); diff != "" {
					t.Errorf("%s of %s: half of it was stored (-before +after):\n%s", w.what, w.table, diff)
				}
			}
			must(t, op.run(ctx, s))
			must(t, s.Check(ctx))
			t.Log(writes)
		})
	}
}

// TestFullDisk gives a turn one page more each time, until it has enough.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	s := open(t)
	ctx := t.Context()
	counts, err := sqlstore.Few(ctx, s.db, "count the pages", sqlstore.Scan[int], "PRAGMA page_count")
	must(t, err)
	pages := counts[0]
	limit := func(pages int) {
		t.Helper()
		must(t, s.db.Exec(ctx, fmt.Sprintf("PRAGMA max_page_count = %d", pages)))
	}
	fits, history := 0, 0
	for fits < 3 {
		limit(pages)
		b, err := s.Begin(ctx, "s", "q")
		must(t, err)
		end := sessions.Ended{Status: kernel.Completed, Winner: "a", Answer: strings.Repeat("a", 3000)}
		err = event(ctx, s, "s", b.Turn, strings.Repeat("text", 10_000))
		if err != nil {
			end = sessions.Ended{Status: kernel.AllFailed}
		}
		err = errors.Join(err, s.End(ctx, "s", b.Turn, end))
		if err == nil {
			fits++
			history++
			continue
		}
		if err := strings.Split(err.Error(), "\n")[0]; !strings.Contains(err, "there is no room for the store "+s.Path()+": make some on its disk") {
			t.Fatal(err)
		}
		turns, err := s.History(ctx, "s")
		if len(turns) != history || err != nil {
			t.Fatalf("%d turns are in the history, %v, want %d", len(turns), err, history)
		}
		must(t, s.Check(ctx))
		pages++
	}
}

func TestConnectionsAreSet(t *testing.T) {
	t.Parallel()
	s := open(t)
	for db, want := range map[*sql.DB]string{
		s.db.Write: "wal 2 1 100 1 0",
		s.db.Read:  "wal 2 1 10000 0 1",
	} {
		var set []any
		for _, pragma := range []string{"journal_mode", "synchronous", "foreign_keys", "busy_timeout", "secure_delete", "query_only"} {
			var value string
			must(t, db.QueryRowContext(t.Context(), "PRAGMA "+pragma).Scan(&value))
			set = append(set, value)
		}
		if got := fmt.Sprintln(set...); got != want+"\n" {
			t.Errorf("a connection is set to %swant %s", got, want)
		}
	}
}

// TestAnotherProcessWritesForLong has a transaction that does not end.
func TestAnotherProcessWritesForLong(t *testing.T) {
	t.Parallel()
	s := open(t)
	s.db.Patience = busyPause
	other, err := connect(s.Path(), patience, url.Values{"_txlock": {"immediate"}})
	must(t, err)
	defer other.Close()
	tx, err := other.BeginTx(t.Context(), nil)
	must(t, err)
	for what, do := range map[string]func(context.Context) error{
		"fact": func(ctx context.Context) error {
			_, err := s.AddFact(ctx, "u", "f")
			return err
		},
		"compact": s.Compact,
	} {
		if err := do(t.Context()); err == nil || !strings.Contains(err.Error(), "another process has been writing to the store "+s.Path()+" for long") {
			t.Errorf("%s: %v", what, err)
		}
		s.db.Patience = time.Hour
		ctx, cancel := context.WithTimeout(t.Context(), busyPause)
		if err := do(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s that is cancelled: %v", what, err)
		}
		cancel()
		s.db.Patience = busyPause
	}
	must(t, tx.Rollback())
	_, err = s.AddFact(t.Context(), "u", "f")
	must(t, err)
}

// TestACancelledWriteLeavesTheStoreFree: a write that is cancelled at any moment is undone before the next
// one begins.
func TestACancelledWriteLeavesTheStoreFree(t *testing.T) {
	t.Parallel()
	s := open(t)
	added := 0
	for i := range 300 {
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Duration(i)*2*time.Microsecond, cancel)
		switch _, err := s.AddFact(ctx, "u", fmt.Sprint("cancelled ", i)); {
		case err == nil:
			added++
		case !errors.Is(err, context.Canceled):
			t.Fatal(err)
		}
		cancel()
		_, err := s.AddFact(t.Context(), "u", fmt.Sprint(i))
		must(t, err)
		added++
	}
	facts, err := s.Facts(t.Context(), "u")
	must(t, err)
	if len(facts) != added {
		t.Errorf("%d facts are stored, not %d", len(facts), added)
	}
}

// TestAChangeThatIsCancelledIsUndone: its context ends after its last statement.
func TestAChangeThatIsCancelledIsUndone(t *testing.T) {
	t.Parallel()
	s := open(t)
	ctx, cancel := context.WithCancel(t.Context())
	err := s.db.Change(ctx, "add a text", func(w *sqlstore.Tx) {
		w.Put([]byte("a text"))
		cancel()
	})
	if !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	count, err := sqlstore.Few(t.Context(), s.db, "count the texts", sqlstore.Scan[int], "SELECT count(*) FROM texts")
	must(t, err)
	if count[0] != 0 {
		t.Errorf("%d texts are stored", count[0])
	}
}

func TestMigration(t *testing.T) {
	t.Parallel()
	s := open(t)
	ctx := t.Context()
	to := func(more ...string) error {
		steps := sqlstore.Steps{}
		for i, step := range more {
			steps[sqlstore.Version+i] = sqlstore.Step{Expand: step}
		}
		return migrate(ctx, s.db.Write, steps, sqlstore.Version+len(more))
	}
	version := func() int {
		t.Helper()
		v, err := versionOf(ctx, s.db.Write)
		must(t, err)
		return v
	}
	must(t, to())
	if got := version(); got != sqlstore.Version {
		t.Errorf("version %d, want %d", got, sqlstore.Version)
	}
	if err := to("CREATE TABLE more (x)", "CREATE TABLE more (x)"); err == nil {
		t.Error("a step that fails was taken")
	}
	if got := version(); got != sqlstore.Version {
		t.Errorf("version %d after a step that failed, want %d", got, sqlstore.Version)
	}
	must(t, to("CREATE TABLE more (x)", "CREATE TABLE yet_more (x)"))
	if got := version(); got != sqlstore.Version+2 {
		t.Errorf("version %d, want %d", got, sqlstore.Version+2)
	}
	if err := to(); !errors.Is(err, errNewer) {
		t.Errorf("a newer file: %v", err)
	}
}

func TestCheckFindsDamage(t *testing.T) {
	t.Parallel()
	for want, statement := range map[string]string{
		"is not what was stored":             "UPDATE texts SET data = CAST('x' AS BLOB) WHERE id = (SELECT max(id) FROM texts WHERE data = CAST('a text' AS BLOB))",
		"no text is stored under":            "PRAGMA foreign_keys = 0; DELETE FROM refs; DELETE FROM texts WHERE id = (SELECT answer FROM turns); INSERT INTO turn_search (turn_search) VALUES ('rebuild')",
		"has 0 turns, and 1 have an answer":  "UPDATE sessions SET head = NULL",
		"compact the store to build it anew": "INSERT INTO turn_search (turn_search, rowid, question, answer) VALUES ('delete', 1, 'one', 'x')",
		"is damaged (":                       "PRAGMA foreign_keys = 0; DELETE FROM turns",
	} {
		s := open(t)
		ctx := t.Context()
		_, err := s.Begin(ctx, "s", "one")
		must(t, err)
		must(t, event(ctx, s, "s", 1, "a text"))
		must(t, s.End(ctx, "s", 1, done))
		must(t, s.Check(ctx))
		must(t, s.db.Exec(ctx, statement))
		if err := s.Check(ctx); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("after %s: %v, want %q", statement, err, want)
		}
		if strings.HasPrefix(want, "compact") {
			must(t, s.Compact(ctx))
			must(t, s.Check(ctx))
		}
	}
}

// TestFileThatIsWrittenToIsLookedAtAgain: what another process writes, as it closes the
// store, is read half of it as it was. A file that stays as it is was damaged before.
func TestFileThatIsWrittenToIsLookedAtAgain(t *testing.T) {
	type state struct {
		size int
		age  time.Duration
	}
	for name, c := range map[string]struct {
		states []state // the first before it is looked at, the others during one look each
		looks  int
	}{
		"it stays":                       {[]state{{1, time.Hour}}, 1},
		"it grows":                       {[]state{{1, time.Hour}, {2, time.Hour}, {3, time.Hour}}, 3},
		"its time changes":               {[]state{{1, time.Hour}, {1, time.Minute}}, 2},
		"it may change within its time":  {[]state{{1, clockTick - 1}}, 2},
		"its time is long over":          {[]state{{1, clockTick}}, 1},
		"its time is yet to come":        {[]state{{1, -time.Hour}}, 1},
		"its time is about to have come": {[]state{{1, 1 - clockTick}}, 3},
	} {
		synctest.Test(t, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "sessions.db")
			become := func(s state) {
				must(t, os.WriteFile(path, make([]byte, s.size), 0o600))
				at := time.Now().Add(-s.age)
				must(t, os.Chtimes(path, at, at))
			}
			for _, isWhole := range []bool{false, true} {
				become(c.states[0])
				looks := 0
				err := unlessWritten(t.Context(), path, func() error {
					looks++
					if isWhole && looks == c.looks {
						return nil
					}
					if looks < len(c.states) {
						become(c.states[looks])
					}
					return errDamaged
				})
				if errors.Is(err, errDamaged) == isWhole || looks != c.looks {
					t.Errorf("%s: %d looks, %v", name, looks, err)
				}
			}
		})
	}
}
