package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/massgen/massgen/internal/coordination/budget"
	"github.com/massgen/massgen/internal/coordination/kernel"
	"github.com/massgen/massgen/sessions"
	"github.com/massgen/massgen/temporal/postgres"
)

// another opens the store in a place once more, as another process does.
func another(t *testing.T, schema string, lease time.Duration) *postgres.Store {
	t.Helper()
	s, err := postgres.OpenFor(t.Context(), address(t, schema), lease)
	ok(t, err)
	closeAfter(t, s)
	return s
}

func closeAfter(t *testing.T, s *postgres.Store) {
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
}

// longLease is one that does not pass in a test: age has most of it pass at once.
const longLease = time.Hour

// beating opens the store in a place once more, with leases that do not pass and that are
// prolonged all the time.
func beating(t *testing.T, schema string) *postgres.Store {
	t.Helper()
	s, err := postgres.OpenBeating(t.Context(), address(t, schema), longLease, time.Second)
	ok(t, err)
	closeAfter(t, s)
	return s
}

// age lets the leases of some rows of a table grow older by nearly all that they last for, and
// returns when all of them were prolonged by more than that. Meanwhile it looks whether what has
// them is kept.
func age(t *testing.T, s *postgres.Store, table, which string, isKept func()) {
	t.Helper()
	table = schemaOf(t, s) + "." + table
	until := fmt.Sprintf("SELECT min(until) FROM %s WHERE %s", table, which)
	first := value(t, until).(time.Time)
	execute(t, fmt.Sprintf("UPDATE %s SET until = until - interval '%f seconds' WHERE %s", table, (longLease-time.Minute).Seconds(), which))
	for end := time.Now().Add(time.Minute); !value(t, until).(time.Time).After(first); {
		if time.Now().After(end) {
			t.Fatal("nobody prolongs the leases")
		}
		isKept()
	}
	isKept()
}

func ok(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// says wants an error with words in it, on one line.
func says(t *testing.T, err error, words ...string) {
	t.Helper()
	for _, word := range words {
		if err == nil || !strings.Contains(err.Error(), word) || strings.Contains(err.Error(), "\n") {
			t.Errorf("error %v, want one line with %q", err, word)
		}
	}
}

var answered = sessions.Ended{Status: kernel.Completed, Winner: "a", Answer: "answer"}

// TestLeaseIsProlongedBesideAWriter, who keeps the hold from ending while it writes.
func TestLeaseIsProlongedBesideAWriter(t *testing.T) {
	ctx := t.Context()
	s := beating(t, schema(t, t.TempDir()))
	_, err := s.Begin(ctx, "s", "q")
	ok(t, err)
	conn, err := pgx.Connect(ctx, address(t, schemaOf(t, s)))
	ok(t, err)
	defer func() { ok(t, conn.Close(context.WithoutCancel(ctx))) }()
	writer, err := conn.Begin(ctx)
	ok(t, err)
	_, err = writer.Exec(ctx, "SELECT 1 FROM holds WHERE name = 's' FOR KEY SHARE")
	ok(t, err)
	age(t, s, "holds", "name = 's'", func() {})
	ok(t, writer.Rollback(ctx))
}

// TestLeaseThatIsOver has an owner of whom nothing is heard while it holds a session.
func TestLeaseThatIsOver(t *testing.T) {
	ctx := t.Context()
	other := open(t, t.TempDir())
	lost := another(t, schemaOf(t, other), time.Hour)
	postgres.Part(lost)
	b, err := lost.Begin(ctx, "s", "q")
	ok(t, err)
	ok(t, lost.Append(ctx, "s", b.Turn, []byte("one")))
	if _, err := other.Resume(ctx, "s"); !errors.Is(err, sessions.ErrBusy) {
		t.Errorf("a session that is held: %v", err)
	}
	expire(t, other)

	ok(t, lost.Append(ctx, "s", b.Turn, []byte("two"))) // nobody has taken it
	if left, err := other.Interrupted(ctx, "s"); err != nil || len(left) != 0 {
		t.Errorf("a write prolongs the lease: %v, %v", left, err)
	}
	expire(t, other)
	left, err := other.Interrupted(ctx, "s")
	if err != nil || len(left) != 1 {
		t.Errorf("interrupted: %v, %v", left, err)
	}
	_, err = other.Resume(ctx, "s")
	ok(t, err)
	says(t, lost.Append(ctx, "s", b.Turn, []byte("three")), "turn 1 of session s is not running: another process holds the session")
	says(t, lost.Commit(ctx, "s", b.Turn, answered), "another process holds")
	says(t, lost.End(ctx, "s", b.Turn, answered), "another process holds")
	says(t, lost.Leave(ctx, "s", b.Turn), "is not running")
	if _, err := lost.Begin(ctx, "s", "q"); !errors.Is(err, sessions.ErrBusy) {
		t.Errorf("the session that was taken: %v", err)
	}
	ok(t, other.Append(ctx, "s", b.Turn, []byte("four")))
	ok(t, other.End(ctx, "s", b.Turn, answered))
	journal, err := other.Journal(ctx, "s", 1, 0)
	ok(t, err)
	if got := fmt.Sprintf("%s", journal); got != "[one two four]" {
		t.Errorf("the journal: %s", got)
	}
	_, err = lost.Begin(ctx, "s", "again")
	ok(t, err)

	// What an owner has noted for its turn is not for that of whoever takes its place.
	ok(t, lost.Append(ctx, "s", 2, []byte("one")))
	ok(t, lost.Leave(ctx, "s", 2))
	_, err = lost.Begin(ctx, "s", "and again")
	ok(t, err)
	ok(t, lost.RecordCut(ctx, "s", 3, budget.Usage{Calls: 5}))
	expire(t, other)
	_, err = other.Begin(ctx, "s", "something else")
	ok(t, err)
	ok(t, other.Append(ctx, "s", 3, []byte("one")))
	if s, err := other.Session(ctx, "s"); err != nil || s.Usage.Calls != 0 {
		t.Errorf("calls of the session: %d, %v", s.Usage.Calls, err)
	}
	says(t, lost.RecordCut(ctx, "s", 3, budget.Usage{Calls: 5}), "another process holds")
}

// expire ends all leases of a store.
func expire(t *testing.T, s *postgres.Store) {
	t.Helper()
	execute(t, "UPDATE "+schemaOf(t, s)+".holds SET until = clock_timestamp() - interval '1 second'")
}

// TestLeasesAreProlonged has a session held for many times its lease.
func TestLeasesAreProlonged(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	other := open(t, t.TempDir())
	s := beating(t, schemaOf(t, other))
	_, err := s.Begin(ctx, "s", "q")
	ok(t, err)
	shared := s.As("a workflow", longLease)
	_, err = shared.Begin(ctx, "t", "q")
	ok(t, err)
	shared.AtWork("t")
	for range 3 {
		age(t, other, "holds", "true", func() {
			for _, id := range []string{"s", "t"} {
				if _, err := other.Begin(ctx, id, "q"); !errors.Is(err, sessions.ErrBusy) {
					t.Fatalf("session %s, which is held: %v", id, err)
				}
			}
		})
	}
	ok(t, s.Close())
	_, err = other.Begin(ctx, "s", "q")
	ok(t, err)
	if _, err := other.Begin(ctx, "t", "q"); !errors.Is(err, sessions.ErrBusy) {
		t.Errorf("a session whose owner may be at work elsewhere: %v", err)
	}
}

// TestNobodyAtWork: what an owner holds who is at work in several processes is kept up while
// somebody is, and free a lease later: its turn may have been given up.
func TestNobodyAtWork(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	other := open(t, t.TempDir())
	const lease = time.Second
	s := another(t, schemaOf(t, other), lease).As("a workflow", lease)
	_, err := s.Begin(ctx, "s", "q")
	ok(t, err)
	rests := []func(){s.AtWork("s"), s.AtWork("s")}
	until := "SELECT min(until) FROM " + schemaOf(t, other) + ".holds"
	for i, rest := range rests {
		first := value(t, until).(time.Time)
		for end := time.Now().Add(time.Minute); value(t, until).(time.Time).Sub(first) < 2*lease; {
			if time.Now().After(end) {
				t.Fatalf("nobody prolongs the lease while %d are at work", len(rests)-i)
			}
		}
		rest()
	}
	for end := time.Now().Add(time.Minute); ; {
		if _, err = other.Begin(ctx, "s", "q"); !errors.Is(err, sessions.ErrBusy) || time.Now().After(end) {
			break
		}
	}
	ok(t, err)
}

// TestOneAtATime has owners who are never heard of and whose leases are over at once,
// so that each takes the others' sessions all the time. In the journal of a turn is one
// of them only, and each event at its place.
func TestOneAtATime(t *testing.T) {
	ctx := t.Context()
	s := open(t, t.TempDir())
	var group sync.WaitGroup
	for i := range 4 {
		name := fmt.Sprint("owner", i)
		owner := s.As(name, time.Microsecond)
		group.Go(func() {
			for range 50 {
				b, err := owner.Begin(ctx, "s", "q")
				if errors.Is(err, sessions.ErrBusy) {
					continue
				}
				for i := range 3 {
					if err == nil {
						err = owner.AppendAt(ctx, "s", b.Turn, i, fmt.Appendf(nil, "%s %d", name, i))
					}
				}
				if err == nil {
					err = owner.End(ctx, "s", b.Turn, sessions.Ended{Status: kernel.Completed, Winner: name, Answer: name})
				}
				if err != nil && !strings.Contains(err.Error(), "is not running") {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
	turns, err := s.Turns(ctx, "s", 0)
	ok(t, err)
	won := 0
	for i, turn := range turns {
		journal, err := s.Journal(ctx, "s", turn.Number, 0)
		ok(t, err)
		for place, event := range journal {
			name, _, _ := strings.Cut(string(journal[0]), " ")
			if turn.Number != i+1 || string(event) != fmt.Sprintf("%s %d", name, place) {
				t.Errorf("turn %d has the journal %q", turn.Number, journal)
			}
		}
		if turn.Winner != "" {
			won++
			if len(journal) != 3 || !strings.HasPrefix(string(journal[0]), turn.Winner) {
				t.Errorf("turn %d of %s has the journal %q", turn.Number, turn.Winner, journal)
			}
		}
	}
	ok(t, s.Check(ctx))
	t.Logf("%d turns, of which %d came to their end", len(turns), won)
	if won == 0 || won == len(turns) {
		t.Error("nobody was in the way of another, or everybody")
	}
}

// TestOneOwnerInTwoPlaces has two workers who play one turn together, and do what they
// do not know to be done again.
func TestOneOwnerInTwoPlaces(t *testing.T) {
	ctx := t.Context()
	local := open(t, t.TempDir())
	one := another(t, schemaOf(t, local), time.Minute).As("turn", time.Minute)
	two := another(t, schemaOf(t, local), time.Minute).As("turn", time.Minute)
	_, held, err := two.Held(ctx, "s")
	if err != nil || held {
		t.Errorf("a session that nobody holds: %v, %v", held, err)
	}
	begun, err := one.Begin(ctx, "s", "q")
	ok(t, err)
	again, held, err := two.Held(ctx, "s")
	if err != nil || !held || again != begun {
		t.Errorf("the turn at the other worker: %+v, %v, %v", again, held, err)
	}
	if _, held, err := local.Held(ctx, "s"); err != nil || held {
		t.Errorf("the turn at somebody else: %v, %v", held, err)
	}
	says(t, local.Append(ctx, "s", 1, []byte("x")), "another process holds")

	ref, err := one.Put(ctx, []byte("put by one"))
	ok(t, err)
	named := fmt.Appendf(nil, `{"text":{"sha256":"%s","bytes":%d}}`, ref.SHA256, ref.Bytes)
	for _, s := range []*postgres.Store{two, one, two} {
		ok(t, s.AppendAt(ctx, "s", 1, 0, named))
	}
	ok(t, one.AppendAt(ctx, "s", 1, 0, named, []byte("second")))
	ok(t, two.AppendAt(ctx, "s", 1, 0, []byte("other"), []byte("other"), []byte("third")))
	for _, place := range []int{4, -1} {
		says(t, two.AppendAt(ctx, "s", 1, place, []byte("fourth")), fmt.Sprintf("event %d of turn 1 of session s cannot be written: the journal has 3 events", place))
	}
	journal, err := local.Journal(ctx, "s", 1, 0)
	ok(t, err)
	if fmt.Sprintf("%s", journal) != fmt.Sprintf("[%s second third]", named) {
		t.Errorf("the journal: %s", journal)
	}
	ok(t, one.Close()) // which is for whoever opened what it uses
	ok(t, two.Commit(ctx, "s", 1, answered))
	ok(t, one.AppendAt(ctx, "s", 1, 3, []byte("after the answer")))
	ok(t, one.End(ctx, "s", 1, sessions.Ended{}))
	if _, held, err := two.Held(ctx, "s"); err != nil || held {
		t.Errorf("the turn after its end: %v, %v", held, err)
	}
	_, err = local.Begin(ctx, "s", "q")
	ok(t, err)
}

// TestResultsAreKeptUntilTheSessionIsLetGoOf, and the first of several stands.
func TestResultsAreKeptUntilTheSessionIsLetGoOf(t *testing.T) {
	ctx := t.Context()
	s := open(t, t.TempDir())
	one, two := s.As("owner", time.Minute), s.As("owner", time.Minute)
	keep := func(by *postgres.Store, turn int, result, want string) {
		t.Helper()
		stand, err := by.KeepResults(ctx, "s", turn, map[string][]byte{"a call": []byte(result)}, nil)
		if err != nil || string(stand["a call"]) != want {
			t.Errorf("the result %q: there is %q, %v", result, stand, err)
		}
	}
	find := func(turn int, want string, isHeld bool) {
		t.Helper()
		found, held, err := two.Results(ctx, "s", turn, []string{"a call", "another"})
		if err != nil || string(found["a call"]) != want || held != isHeld {
			t.Errorf("turn %d: found %q, held %v, %v, want %q", turn, found, held, err, want)
		}
	}
	_, err := one.KeepResults(ctx, "s", 1, map[string][]byte{"a call": []byte("early")}, nil)
	says(t, err, "is not running")
	_, err = one.Begin(ctx, "s", "q")
	ok(t, err)
	find(1, "", true)
	keep(one, 1, "first", "first")
	keep(two, 1, "second", "first")
	find(1, "first", true)
	find(2, "", false)
	_, err = s.As("another", time.Minute).KeepResults(ctx, "s", 1, map[string][]byte{"a call": []byte("foreign")}, nil)
	says(t, err, "another process holds")
	ok(t, two.Leave(ctx, "s", 1))
	find(1, "", false)
}

// TestEndThatFailsLetsGo has a database that cannot take the end of a turn.
func TestEndThatFailsLetsGo(t *testing.T) {
	ctx := t.Context()
	s := open(t, t.TempDir())
	for _, id := range []string{"running", "committed", "to be committed"} {
		b, err := s.Begin(ctx, id, "q")
		ok(t, err)
		ok(t, s.Append(ctx, id, b.Turn, []byte("event")))
	}
	ok(t, s.Commit(ctx, "committed", 1, answered))
	says(t, s.Commit(ctx, "committed", 1, answered), "is not running")
	execute(t, "ALTER TABLE "+schemaOf(t, s)+".turns RENAME calls TO others")
	says(t, s.End(ctx, "running", 1, answered), "end a turn of session running: the store", "is damaged")
	says(t, s.End(ctx, "committed", 1, answered), "is damaged")
	says(t, s.Commit(ctx, "to be committed", 1, answered), "is damaged")
	if held := value(t, "SELECT count(*) FROM "+schemaOf(t, s)+".holds"); held != int64(0) {
		t.Errorf("%d sessions are held", held)
	}
}

// TestTextsOfOwnersWhoNeverCameBack are forgotten after a day.
func TestTextsOfOwnersWhoNeverCameBack(t *testing.T) {
	ctx := t.Context()
	s := open(t, t.TempDir())
	lost := another(t, schemaOf(t, s), time.Minute)
	postgres.Part(lost)
	_, err := lost.Begin(ctx, "lost", "q")
	ok(t, err)
	ref, err := lost.Put(ctx, []byte("never named"))
	ok(t, err)
	endOne := func() {
		t.Helper()
		b, err := s.Begin(ctx, "s", "q")
		ok(t, err)
		ok(t, s.End(ctx, "s", b.Turn, answered))
	}
	expire(t, s)
	endOne()
	_, err = s.Get(ctx, ref)
	ok(t, err)
	execute(t, "UPDATE "+schemaOf(t, s)+".holds SET until = clock_timestamp() - interval '25 hours'")
	endOne()
	if _, err := s.Get(ctx, ref); !errors.Is(err, sessions.ErrNoText) {
		t.Errorf("the text that nobody will name: %v", err)
	}
}

// TestTextsThatComeAndGo has turns name a text while sessions that named it are
// deleted.
func TestTextsThatComeAndGo(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	s := open(t, t.TempDir())
	var group sync.WaitGroup
	for i := range 6 {
		group.Go(func() {
			for turn := range 20 {
				id := fmt.Sprint("s", i)
				b, err := s.Begin(ctx, id, "the same question")
				if err == nil {
					err = writeTurn(ctx, s, id, b.Turn, "same")
				}
				if err == nil && turn%2 == 1 {
					err = s.Delete(ctx, id)
				}
				if err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
	ok(t, s.Check(ctx))
	if left := value(t, "SELECT count(*) FROM "+schemaOf(t, s)+".texts"); left != int64(0) {
		t.Errorf("%d texts are left of sessions that were deleted", left)
	}
}
