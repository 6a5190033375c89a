package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"golang.org/x/sync/errgroup"

	"github.com/massgen/massgen/internal/coordination/kernel"
	"github.com/massgen/massgen/internal/models/retry"
	"github.com/massgen/massgen/internal/storage/sqlstore"
	"github.com/massgen/massgen/sessions"
	"github.com/massgen/massgen/temporal/postgres"
)

// canary is a password that must stand in no error.
const canary = "pw-canary-7f3a"

// with returns the database's address with another part.
func with(t *testing.T, change func(*url.URL)) string {
	t.Helper()
	at, err := url.Parse(os.Getenv(databaseVariable))
	ok(t, err)
	change(at)
	return at.String()
}

func setQuery(at *url.URL, key, value string) {
	query := at.Query()
	query.Set(key, value)
	at.RawQuery = query.Encode()
}

func TestAddressesThatLeadToNoStore(t *testing.T) {
	for name, c := range map[string]struct{ address, want string }{
		"no address":      {"postgres://u:" + canary + "@%zz/db", "write it as postgres://USER:PASSWORD@HOST:PORT/DATABASE"},
		"a wrong key":     {"host=/tmp password='" + canary + "' port=many", "write it as"},
		"nobody there":    {"postgres://u:" + canary + "@127.0.0.1:1/db?sslmode=disable", "the store db on 127.0.0.1:1, schema massgen is out of reach"},
		"no database":     {with(t, func(at *url.URL) { at.Path = "/none" }), "is in a database that is not there"},
		"no such user":    {with(t, func(at *url.URL) { setQuery(at, "user", "nobody-known"); setQuery(at, "password", canary) }), "does not let this user in"},
		"many schemas":    {with(t, func(at *url.URL) { setQuery(at, "search_path", "one,two") }), `search_path="one,two" names no schema that a store can be in`},
		"an odd schema":   {with(t, func(at *url.URL) { setQuery(at, "search_path", `"; DROP`) }), "names no schema that a store can be in"},
		"a reserved name": {with(t, func(at *url.URL) { setQuery(at, "search_path", "pg_mine") }), "make the schema pg_mine"},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := postgres.Open(t.Context(), c.address)
			if err == nil {
				t.Fatalf("it was opened: %v", s.Close())
			}
			says(t, err, c.want)
			if strings.Contains(err.Error(), canary) {
				t.Errorf("the error has the password: %v", err)
			}
		})
	}
}

func TestSchemasThatCannotBeUsedAreLeftAsTheyWere(t *testing.T) {
	oldest, newest := postgres.Steps().Window(sqlstore.Version)
	works := fmt.Sprintf("%d to %d", oldest, newest)
	for name, c := range map[string]struct{ change, want string }{
		"newer":             {"UPDATE massgen_store SET version = 99", "was written by a newer massgen (it has version 99, and this program works with " + works + "): update massgen"},
		"older":             {"UPDATE massgen_store SET version = 4", "was written by an older massgen (it has version 4, and this program works with " + works + "): run massgen-temporal migrate with the same --database"},
		"of version 0":      {"UPDATE massgen_store SET version = 0", "is damaged"},
		"without a version": {"DELETE FROM massgen_store", "is damaged"},
		"of another shape":  {"ALTER TABLE massgen_store RENAME version TO number", "is damaged"},
		"of others":         {"DROP TABLE massgen_store", "has other tables: name another as search_path"},
	} {
		t.Run(name, func(t *testing.T) {
			s := open(t, t.TempDir())
			schema := schemaOf(t, s)
			ok(t, s.Close())
			execute(t, "SET search_path = "+schema+"; "+c.change)
			const shape = "SELECT string_agg(relname::text || relfilenode, ' ' ORDER BY relname) FROM pg_class WHERE relnamespace = to_regnamespace($1)"
			before := value(t, shape, schema)
			again, err := postgres.Open(t.Context(), address(t, schema))
			if err == nil {
				t.Fatalf("it was opened: %v", again.Close())
			}
			says(t, err, schema, c.want)
			if after := value(t, shape, schema); after != before {
				t.Errorf("the schema was %v and is %v", before, after)
			}
		})
	}
}

// TestOldStoreIsBroughtUpToDate: one of version 1, with what is in it.
func TestOldStoreIsBroughtUpToDate(t *testing.T) {
	ctx := t.Context()
	name := schema(t, t.TempDir())
	first, err := os.ReadFile("testdata/1.sql")
	ok(t, err)
	execute(t, "SET search_path = "+name+"; "+string(first)+`; INSERT INTO massgen_store VALUES (1);
		INSERT INTO facts (owner, text, sha256, words, created) VALUES ('u', 'one fact', '', '', now())`)
	migrate(t, name)
	s, err := postgres.Open(ctx, address(t, name))
	ok(t, err)
	defer func() { ok(t, s.Close()) }()
	if facts, err := s.Facts(ctx, "u"); len(facts) != 1 || err != nil {
		t.Errorf("%d facts, %v", len(facts), err)
	}
	may(t, s.Limiter("account", retry.Limits{Concurrent: 1}), 1).Settle(nil)
	ok(t, s.Check(ctx))
}

// TestTurnsOfAnOldStoreAreFound: one of version 2 kept no words of turns that were given up.
func TestTurnsOfAnOldStoreAreFound(t *testing.T) {
	ctx := t.Context()
	s := open(t, t.TempDir())
	name := schemaOf(t, s)
	for i, question := range []string{"one", "two", "three"} {
		_, err := s.Begin(ctx, "s", question)
		ok(t, err)
		ok(t, s.Append(ctx, "s", i+1, []byte("event")))
		ok(t, s.Leave(ctx, "s", i+1))
	}
	ok(t, s.Close())
	execute(t, "SET search_path = "+name+"; UPDATE turns SET words = NULL; ALTER TABLE holds DROP COLUMN cut, DROP COLUMN lease_seconds; DROP TABLE results; ALTER TABLE massgen_store DROP COLUMN id; ALTER TABLE sessions DROP COLUMN reasoning_tokens; ALTER TABLE turns DROP COLUMN reasoning_tokens; UPDATE massgen_store SET version = 2")
	migrate(t, name)
	s, err := postgres.Open(ctx, address(t, name))
	ok(t, err)
	defer func() { ok(t, s.Close()) }()
	for question, want := range map[string]int{"one": 1, "two": 1, "three": 0} { // the third may be gone on with
		if hits, err := s.Search(ctx, question, sessions.Filter{}); len(hits) != want || err != nil {
			t.Errorf("%s: %d hits, %v", question, len(hits), err)
		}
	}
	ok(t, s.Check(ctx))
}

// TestIDOfAStore: all who open a store see the same id, and no other store has it.
func TestIDOfAStore(t *testing.T) {
	ids := map[string]bool{}
	for _, name := range []string{schema(t, t.TempDir()), schema(t, t.TempDir()), oldStore(t), oldStore(t)} {
		migrate(t, name)
		var id string
		for range 2 {
			s, err := postgres.Open(t.Context(), address(t, name))
			ok(t, err)
			first := id
			id, _ = s.Database()
			if first != "" && first != id {
				t.Errorf("schema %s has the id %q and then %q", name, first, id)
			}
			ok(t, s.Close())
		}
		if id == "" || ids[id] {
			t.Errorf("schema %s has the id %q", name, id)
		}
		ids[id] = true
	}
}

// TestDamage has stores that open, and in which something is wrong.
func TestDamage(t *testing.T) {
	for change, want := range map[string]string{
		"UPDATE texts SET data = 'x' WHERE data = 'answer'": "is not what was stored",
		"DELETE FROM refs":                                          "does not keep its texts",
		"UPDATE turns SET words = NULL":                             "a turn of session s is over, and no search finds it",
		"UPDATE sessions SET head = NULL":                           "the history of session s has 0 turns, and 1 have an answer",
		"UPDATE sessions SET head = sha256('q')":                    "is no link",
		"DROP TABLE events CASCADE; DROP TABLE turns, refs CASCADE": "is damaged: put a copy from before in its place",
	} {
		s := open(t, t.TempDir())
		b, err := s.Begin(t.Context(), "s", "q")
		ok(t, err)
		ok(t, s.End(t.Context(), "s", b.Turn, answered))
		ok(t, s.Check(t.Context()))
		execute(t, "SET search_path = "+schemaOf(t, s)+"; "+change)
		if err := s.Check(t.Context()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("after %q: error %v, want %q", change, err, want)
		}
	}
}

func TestManyMakeOneStore(t *testing.T) {
	ctx := context.WithoutCancel(t.Context())
	name := schema(t, t.TempDir())
	execute(t, "DROP SCHEMA "+name)
	const all = 8
	errs := make(chan error, all)
	var made atomic.Int32
	for range all {
		go func() {
			s, err := postgres.OpenTo(ctx, address(t, name), postgres.Use{Made: func(string) { made.Add(1) }})
			if err == nil {
				_, err = s.AddFact(ctx, "u", "one fact")
				err = errors.Join(err, s.Close())
			}
			errs <- err
		}()
	}
	for range all {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	s, err := postgres.Open(ctx, address(t, name))
	ok(t, err)
	defer s.Close()
	facts, err := s.Facts(ctx, "u")
	if len(facts) != 1 || err != nil {
		t.Errorf("%d facts, %v", len(facts), err)
	}
	if made.Load() != 1 {
		t.Errorf("%d say that they made it", made.Load())
	}
}

// TestLostConnections has the server end all connections between the steps of a turn,
// as one does that restarts.
func TestLostConnections(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	name := schema(t, t.TempDir())
	s, err := postgres.Open(ctx, called(t, name, address(t, name))) // others have connections too
	ok(t, err)
	defer func() { ok(t, s.Close()) }()
	cut := func() {
		t.Helper()
		if n := value(t, `
			SELECT count(pg_terminate_backend(pid, 10000)) FROM pg_stat_activity
			WHERE application_name = $1`, name); n == int64(0) {
			t.Error("there were no connections")
		}
	}
	for i := range 3 {
		cut()
		b, err := s.Begin(ctx, "s", "q")
		ok(t, err)
		cut()
		ref, err := s.Put(ctx, []byte("text"))
		ok(t, err)
		cut()
		ok(t, s.Append(ctx, "s", b.Turn, fmt.Appendf(nil, `{"text":{"sha256":"%s","bytes":%d}}`, ref.SHA256, ref.Bytes)))
		cut()
		_, err = s.Get(ctx, ref)
		ok(t, err)
		cut()
		ok(t, s.End(ctx, "s", b.Turn, answered))
		cut()
		turns, err := s.Turns(ctx, "s", 0)
		ok(t, err)
		if len(turns) != i+1 {
			t.Errorf("%d turns after %d", len(turns), i+1)
		}
	}
	ok(t, s.Check(ctx))
}

// TestWordsOfLongTexts are found as far as PostgreSQL can keep them.
func TestWordsOfLongTexts(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s := open(t, t.TempDir())
	var many strings.Builder
	for i := range 150_000 {
		fmt.Fprintf(&many, "word%d ", i)
	}
	question := "The first words " + strings.Repeat("again ", 1000) + strings.Repeat("x", 5000) + " after the long one " + many.String()
	b, err := s.Begin(ctx, "s", question)
	ok(t, err)
	ok(t, s.End(ctx, "s", b.Turn, sessions.Ended{Status: kernel.Completed, Winner: "a", Answer: "An answer’s end"}))
	for query, want := range map[string]int{
		"first-words": 1, "again": 1, "again-again": 1, "the-long-one": 1, "word20000": 1, "word100-word101": 1,
		"word149999": 0, "word149999-an": 0, strings.Repeat("x", 5000): 0, "answer-s-end": 1, "one-answer": 0,
		"first-s": 0, "the-answer": 0,
	} {
		hits, err := s.Search(ctx, query, sessions.Filter{})
		ok(t, err)
		found := 0
		for _, h := range hits {
			if h.Turn == 1 {
				found++
			}
			if len(h.Snippet) > 400 {
				t.Errorf("a snippet of %d bytes", len(h.Snippet))
			}
		}
		if found != want {
			t.Errorf("%.20q is found %d times, want %d", query, found, want)
		}
	}
	hits, err := s.Search(ctx, "answer", sessions.Filter{})
	ok(t, err)
	if len(hits) != 1 || hits[0].Snippet != "An answer’s end" {
		t.Errorf("hits %+v", hits)
	}
}

// TestAStoreIsSetUpBesideAnIndex: whoever waits to set up a store does not keep another from building an index.
func TestAStoreIsSetUpBesideAnIndex(t *testing.T) {
	conn, err := pgx.Connect(t.Context(), address(t, schema(t, t.TempDir())))
	ok(t, err)
	defer func() { ok(t, conn.Close(context.WithoutCancel(t.Context()))) }()
	exec := func(statement string, args ...any) {
		t.Helper()
		_, err := conn.Exec(t.Context(), statement, args...)
		ok(t, err)
	}
	const creation = 0x6d617373 // "mass"
	exec("CREATE TABLE t (n int)")
	for taken := false; !taken; <-time.After(10 * time.Millisecond) {
		ok(t, conn.QueryRow(t.Context(), "SELECT pg_try_advisory_lock($1)", creation).Scan(&taken))
	}
	at := address(t, schema(t, t.TempDir())) + "&application_name=" + url.QueryEscape(t.Name())
	var opening errgroup.Group
	opening.Go(func() error {
		s, err := postgres.Open(t.Context(), at)
		if err != nil {
			return err
		}
		return s.Close()
	})
	for asks := false; !asks; <-time.After(10 * time.Millisecond) {
		ok(t, conn.QueryRow(t.Context(), "SELECT count(*) > 0 FROM pg_stat_activity WHERE application_name = $1 AND query LIKE '%advisory%'", t.Name()).Scan(&asks))
	}
	exec("CREATE INDEX CONCURRENTLY ON t (n)")
	exec("SELECT pg_advisory_unlock($1)", creation)
	ok(t, opening.Wait())
}
