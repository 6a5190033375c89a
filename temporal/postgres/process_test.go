package postgres_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/url"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/massgen/massgen/internal/coordination/kernel"
	"github.com/massgen/massgen/sessions"
	"github.com/massgen/massgen/temporal/postgres"
)

// In the environment of a process that writes turns instead of testing: the store's
// address, the process's name, how many turns it writes of each session, and how long a
// session stays held that it held when it was killed.
const (
	writerAddress = "STORE_WRITER_ADDRESS"
	writerName    = "STORE_WRITER_NAME"
	writerTurns   = "STORE_WRITER_TURNS"
	writerLease   = "STORE_WRITER_LEASE"
)

// writeTurns writes turns, of a session of its own and of one that all processes
// share, by turns, and tells of each when it has ended: its session, number and
// answer. It waits for a session that another holds.
func writeTurns(ctx context.Context) error {
	name := os.Getenv(writerName)
	turns, err := strconv.Atoi(os.Getenv(writerTurns))
	if err != nil {
		return err
	}
	lease, err := time.ParseDuration(os.Getenv(writerLease))
	if err != nil {
		return err
	}
	s, err := postgres.OpenFor(ctx, os.Getenv(writerAddress), lease)
	if err != nil {
		return err
	}
	for i := range turns {
		for _, id := range []string{name, "shared"} {
			answer := fmt.Sprintf("%s-%d-%s", name, i, id)
			b, err := begin(ctx, s, id, answer)
			if err != nil {
				return err
			}
			if err := writeTurn(ctx, s, id, b.Turn, answer); err != nil {
				return err
			}
			fmt.Println(id, b.Turn, answer)
		}
	}
	return s.Close()
}

// begin begins a turn as soon as nobody else holds the session.
func begin(ctx context.Context, s *postgres.Store, id, answer string) (sessions.Begun, error) {
	for end := time.Now().Add(time.Minute); ; {
		b, err := s.Begin(ctx, id, "q of "+answer)
		if !errors.Is(err, sessions.ErrBusy) || time.Now().After(end) {
			return b, err
		}
		select {
		case <-ctx.Done():
			return b, ctx.Err()
		case <-time.After(time.Millisecond):
		}
	}
}

func writeTurn(ctx context.Context, s *postgres.Store, id string, turn int, answer string) error {
	ref, err := s.Put(ctx, []byte("a text of "+answer))
	if err != nil {
		return err
	}
	event := fmt.Appendf(nil, `{"answer":"%s","text":{"sha256":"%s","bytes":%d}}`, answer, ref.SHA256, ref.Bytes)
	if err := s.Append(ctx, id, turn, event); err != nil {
		return err
	}
	return s.End(ctx, id, turn, sessions.Ended{Status: kernel.Completed, Winner: "a", Answer: answer})
}

// writer starts a process that writes turns; told has what it tells.
func writer(t *testing.T, schema, name string, turns int, lease time.Duration) (process *exec.Cmd, told *bufio.Scanner) {
	t.Helper()
	process = exec.CommandContext(t.Context(), os.Args[0])
	process.Env = append(os.Environ(), writerAddress+"="+called(t, writersOf(schema), address(t, schema)),
		writerName+"="+name, writerTurns+"="+strconv.Itoa(turns), writerLease+"="+lease.String())
	process.Stderr = os.Stderr
	out, err := process.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := process.Start(); err != nil {
		t.Fatal(err)
	}
	return process, bufio.NewScanner(out)
}

// writersOf is what the server calls the connections of a schema's writers.
func writersOf(schema string) string { return "writers_of_" + schema }

// called is an address whose connections have a name at the server.
func called(t *testing.T, name, address string) string {
	t.Helper()
	at, err := url.Parse(address)
	ok(t, err)
	setQuery(at, "application_name", name)
	return at.String()
}

// awaitGone waits until the server has done all that writers who were killed have sent it.
func awaitGone(t *testing.T, schema string) {
	t.Helper()
	const theirs = "SELECT count(*) FROM pg_stat_activity WHERE application_name = $1"
	for end := time.Now().Add(time.Minute); value(t, theirs, writersOf(schema)) != int64(0); {
		if time.Now().After(end) {
			t.Fatal("the server goes on with what a dead process wants")
		}
	}
}

// stored reads all turns that have an answer, as writers tell of them, and checks that
// what belongs to each is there.
func stored(t *testing.T, s *postgres.Store) map[string]bool {
	t.Helper()
	all := map[string]bool{}
	list, err := s.List(t.Context(), sessions.Filter{})
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range list {
		turns, err := s.Turns(t.Context(), n.ID, 0)
		if err != nil || len(turns) != n.Turns {
			t.Fatalf("session %s has %d turns, not %d, %v", n.ID, len(turns), n.Turns, err)
		}
		for i, one := range turns {
			if one.Number != i+1 {
				t.Errorf("turn %d of session %s stands at %d", one.Number, n.ID, i+1)
			}
			if one.Winner == "" {
				continue
			}
			journal, err := s.Journal(t.Context(), n.ID, one.Number, 0)
			if err != nil || len(journal) != 1 || !strings.Contains(string(journal[0]), `"`+one.Answer+`"`) {
				t.Errorf("the journal of turn %d of session %s: %q, %v", one.Number, n.ID, journal, err)
			}
			all[fmt.Sprintln(n.ID, one.Number, one.Answer)] = true
		}
	}
	if err := s.Check(t.Context()); err != nil {
		t.Error(err)
	}
	return all
}

// TestTwoProcessesWriteAtOnce has two processes write to one session, and each to one
// of its own.
func TestTwoProcessesWriteAtOnce(t *testing.T) {
	t.Parallel()
	const each = 200
	s := open(t, t.TempDir())
	one, toldByOne := writer(t, schemaOf(t, s), "one", each, time.Minute) // which is longer than any pause of a process
	two, toldByTwo := writer(t, schemaOf(t, s), "two", each, time.Minute)
	told := map[string]bool{}
	for _, lines := range []*bufio.Scanner{toldByOne, toldByTwo} {
		for lines.Scan() {
			told[lines.Text()+"\n"] = true
		}
	}
	for _, process := range []*exec.Cmd{one, two} {
		if err := process.Wait(); err != nil {
			t.Fatal(err)
		}
	}
	all := stored(t, s)
	if len(told) != 4*each || len(all) != 4*each {
		t.Errorf("%d turns were told of, and %d are stored; want %d", len(told), len(all), 4*each)
	}
	for turn := range told {
		if !all[turn] {
			t.Errorf("%s is lost", turn)
		}
	}
	shared, err := s.History(t.Context(), "shared")
	if err != nil || len(shared) != 2*each {
		t.Errorf("the shared session has %d turns, %v", len(shared), err)
	}
}

// TestKilledAtAnyMoment kills processes that write. What they have told of is there,
// and the session of a dead one is free when its lease is over: the one after it writes
// to the same.
func TestKilledAtAnyMoment(t *testing.T) {
	t.Parallel()
	const kills = 20
	s := open(t, t.TempDir())
	random := rand.New(rand.NewPCG(1, 2))
	told := map[string]bool{}
	for i := range kills {
		process, lines := writer(t, schemaOf(t, s), fmt.Sprint("writer", i%2), 1<<20, 300*time.Millisecond)
		after := time.Duration(random.IntN(40_000)) * time.Microsecond
		for range 1 + random.IntN(3) { // so that it is at work and not only starting
			if !lines.Scan() {
				t.Fatal("a process ended by itself")
			}
			told[lines.Text()+"\n"] = true
		}
		timer := time.AfterFunc(after, func() {
			if err := process.Process.Kill(); err != nil {
				t.Error(err)
			}
		})
		for lines.Scan() {
			told[lines.Text()+"\n"] = true
		}
		timer.Stop()
		if err := process.Wait(); err == nil {
			t.Fatal("a process ended by itself")
		}
	}
	awaitGone(t, schemaOf(t, s))
	all := stored(t, s)
	for turn := range told {
		if !all[turn] {
			t.Errorf("%s is lost", turn)
		}
	}
	t.Logf("%d turns were told of, %d are stored", len(told), len(all))
	if b, err := begin(t.Context(), s, "shared", "the last"); err != nil || b.Turn < 2 {
		t.Errorf("the session after the last kill: %+v, %v", b, err)
	}
}
