package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/internal/models/retry"
	"github.com/massgen/massgen/temporal/postgres"
	"github.com/massgen/massgen/tests/limitertest"
)

// longMinute is a minute of limits in which nothing flows in that a test would see.
const longMinute = 24 * time.Hour

func TestLimiters(t *testing.T) {
	t.Parallel()
	limitertest.Run(t, limitertest.Suite{
		Open: func(t *testing.T, l retry.Limits, minute time.Duration) [2]retry.Limiter {
			one := open(t, t.TempDir())
			other := another(t, schemaOf(t, one), postgres.Lease)
			of := func(s *postgres.Store) retry.Limiter {
				return postgres.Patient(postgres.LimiterFor(s, "account", l, minute))
			}
			return [2]retry.Limiter{of(one), of(other)}
		},
		Booked: func(t *testing.T, r backends.Reservation) time.Time {
			at, err := postgres.BookedAt(t.Context(), r)
			if err != nil {
				t.Error(err)
			}
			return at
		},
		Short: time.Second, Long: longMinute,
		Seeds: 3,
	})
}

// may returns an attempt that may run.
func may(t *testing.T, l retry.Limiter, tokens int) backends.Reservation {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	r, err := l.Reserve(ctx, tokens)
	ok(t, err)
	return r
}

// mayNot wants that an attempt waits.
func mayNot(t *testing.T, l retry.Limiter, tokens int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	if r, err := l.Reserve(ctx, tokens); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("an attempt of %d tokens does not wait: %v, %v", tokens, r, err)
	}
}

// TestPlacesOfTheDead are free when their lease is over, those of the living are kept.
func TestPlacesOfTheDead(t *testing.T) {
	t.Parallel()
	living := open(t, t.TempDir())
	dead := another(t, schemaOf(t, living), time.Hour)
	postgres.Part(dead)
	of := func(s *postgres.Store) retry.Limiter {
		return postgres.Patient(s.Limiter("account", retry.Limits{Concurrent: 1}))
	}
	lost := may(t, of(dead), 1)
	mayNot(t, of(living), 1)
	expireAttempts(t, living)
	r := may(t, of(living), 1)
	lost.Settle(nil)
	mayNot(t, of(dead), 1) // another attempt has the place
	r.Settle(nil)

	r = may(t, of(beating(t, schemaOf(t, living))), 1)
	for range 3 {
		age(t, living, "attempts", "tokens >= 0", func() {})
	}
	mayNot(t, of(living), 1)
	r.Settle(nil)
	const left = "SELECT (SELECT count(*) FROM %[1]s.attempts WHERE tokens >= 0) + (SELECT count(*) FROM %[1]s.accounts WHERE next <> '')"
	if n := value(t, fmt.Sprintf(left, schemaOf(t, living))); n != int64(0) {
		t.Errorf("%d attempts are left that run, or that nobody may overtake", n)
	}
}

// expireAttempts ends the leases of all attempts.
func expireAttempts(t *testing.T, s *postgres.Store) {
	t.Helper()
	execute(t, "UPDATE "+schemaOf(t, s)+".attempts SET until = clock_timestamp() - interval '1 second'")
}

// TestLimitOfAClockThatWasAhead fills again although it was last filled in the future.
func TestLimitOfAClockThatWasAhead(t *testing.T) {
	s := open(t, t.TempDir())
	limiter := postgres.LimiterFor(s, "a", retry.Limits{RequestsPerMinute: 4}, time.Second)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for n := range 9 { // more than there are at once
		r, err := limiter.Reserve(ctx, 1)
		ok(t, err)
		r.Settle(nil)
		if n == 0 {
			execute(t, "UPDATE "+schemaOf(t, s)+".accounts SET filled = clock_timestamp() + interval '1 hour'")
		}
	}
}

// TestManyTakeAtOnce all that there is, and no more.
func TestManyTakeAtOnce(t *testing.T) {
	const all = 100
	for name, limits := range map[string]retry.Limits{"places": {Concurrent: all}, "requests": {RequestsPerMinute: 4 * all}} {
		t.Run(name, func(t *testing.T) {
			s := open(t, t.TempDir())
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var taken atomic.Int64
			var wg sync.WaitGroup
			for range 4 {
				l := postgres.LimiterFor(s, "account", limits, longMinute)
				wg.Go(func() {
					for ctx.Err() == nil {
						if _, err := l.Reserve(ctx, 1); err == nil {
							taken.Add(1)
						} else if !errors.Is(err, context.Canceled) {
							t.Error(err)
						}
					}
				})
			}
			isWaiting := "SELECT EXISTS (SELECT FROM " + schemaOf(t, s) + ".accounts WHERE next <> '')"
			for end := time.Now().Add(time.Minute); value(t, isWaiting) != true || taken.Load() < all; {
				if t.Failed() || time.Now().After(end) {
					t.Fatalf("%d were taken, and somebody waits: %v", taken.Load(), value(t, isWaiting))
				}
			}
			if n := value(t, "SELECT count(*) FROM "+schemaOf(t, s)+".attempts WHERE tokens >= 0"); n != int64(all) {
				t.Errorf("%d are booked, and there are %d", n, all)
			}
			cancel()
			wg.Wait()
			if n := taken.Load(); n != all {
				t.Errorf("%d were taken, and there are %d", n, all)
			}
		})
	}
}

// TestAccountsAreApart: of other names, and of other limits. The database has no name as
// it was given.
func TestAccountsAreApart(t *testing.T) {
	s := open(t, t.TempDir())
	for _, name := range []string{"one " + canary, "two " + canary} {
		for _, most := range []int{1, 2} {
			may(t, s.Limiter(name, retry.Limits{Concurrent: most}), 1)
		}
	}
	in := schemaOf(t, s)
	names := value(t, "SELECT string_agg(name, ' ') FROM "+in+".accounts").(string)
	if n := len(strings.Fields(names)); n != 4 || strings.Contains(names, canary) {
		t.Errorf("%d accounts: %s", n, names)
	}
}

// TestBookedOnce: what is done again, since nobody has heard that it was done, changes
// nothing.
func TestBookedOnce(t *testing.T) {
	ctx := t.Context()
	s := open(t, t.TempDir())
	may(t, postgres.LimiterFor(s, "account", retry.Limits{RequestsPerMinute: 40, TokensPerMinute: 400}, longMinute), 10)
	conn, err := pgx.Connect(ctx, address(t, schemaOf(t, s)))
	ok(t, err)
	defer func() { ok(t, conn.Close(context.WithoutCancel(ctx))) }()
	left := func(want float64) {
		t.Helper()
		var requests, tokens float64
		ok(t, conn.QueryRow(ctx, "SELECT round(requests), round(tokens) FROM accounts").Scan(&requests, &tokens))
		if requests != want || tokens != 10*want {
			t.Errorf("%g requests and %g tokens are left, want %g and %[3]g0", requests, tokens, want)
		}
	}
	left(9)
	for range 3 {
		_, err = conn.Exec(ctx, "SELECT book_attempt(name, 'again', 10, 15) FROM accounts")
		ok(t, err)
		left(8)
	}
	for range 3 {
		_, err = conn.Exec(ctx, "SELECT end_attempt(name, 'again', 0, 0) FROM accounts")
		ok(t, err)
		left(9)
	}
}

// TestTooLateToBook: an attempt that was given up while the server was at work on it is not
// booked by what the server goes on with.
func TestTooLateToBook(t *testing.T) {
	t.Parallel()
	s := open(t, t.TempDir())
	l := postgres.Patient(s.Limiter("account", retry.Limits{Concurrent: 1}))
	may(t, l, 1).Settle(nil)
	in := schemaOf(t, s)
	conn := connect(t)
	defer func() { ok(t, conn.Close(context.WithoutCancel(t.Context()))) }()
	lock, err := conn.Begin(t.Context())
	ok(t, err)
	_, err = lock.Exec(t.Context(), "SELECT FROM "+in+".accounts FOR UPDATE")
	ok(t, err)
	given := make(chan struct{})
	go func() {
		defer close(given)
		mayNot(t, l, 1)
	}()
	// The end of the attempt waits for whoever books in this account: here, for the lock.
	const waiting = "SELECT EXISTS (SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%INSERT INTO attempts%' AND $1::oid = ANY (pg_blocking_pids(pid)))"
	for end := time.Now().Add(time.Minute); value(t, waiting, conn.PgConn().PID()) != true; {
		if time.Now().After(end) {
			t.Fatal("nobody withdraws the attempt")
		}
	}
	ok(t, lock.Commit(t.Context()))
	<-given

	execute(t, fmt.Sprintf("SET search_path = %s; SELECT book_attempt(account, id, 1, 3600) FROM attempts", in))
	if n := value(t, "SELECT count(*) FROM "+in+".attempts"); n != int64(1) {
		t.Fatalf("%d attempts were withdrawn, want 1", n)
	}
	may(t, l, 1).Settle(nil)
}

// TestLimitsWhileTheDatabaseIsAway: nothing passes, a wait can be cancelled, and what was
// not written is when the database is back.
func TestLimitsWhileTheDatabaseIsAway(t *testing.T) {
	t.Parallel()
	s := open(t, t.TempDir())
	way := newWay(t)
	parted, err := postgres.Open(t.Context(), way.address(t, schemaOf(t, s)))
	ok(t, err)
	t.Cleanup(func() { ok(t, parted.Close()) })
	limits := retry.Limits{TokensPerMinute: 120} // the bucket holds 30
	l := postgres.LimiterFor(parted, "account", limits, longMinute)
	r := may(t, l, 30)
	way.shut()
	r.Settle(&backends.Usage{OutputTokens: 2})
	mayNot(t, l, 1)
	mayNot(t, postgres.LimiterFor(s, "account", limits, longMinute), 1)
	fresh := postgres.LimiterFor(parted, "another", limits, longMinute)
	mayNot(t, fresh, 1)
	passed := make(chan error, 1)
	go func() {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		_, err := l.Reserve(ctx, 28)
		passed <- err
	}()
	mayNot(t, l, 1)
	if len(passed) > 0 {
		t.Fatalf("an attempt has passed while the database was away: %v", <-passed)
	}
	way.open(t)
	ok(t, <-passed)
	mayNot(t, l, 2)
	may(t, fresh, 30).Settle(nil)
	mayNot(t, fresh, 1)
}

// way is one to the database that can be shut.
type way struct {
	dir      string
	network  string
	server   string
	running  sync.WaitGroup
	listener net.Listener

	mu     sync.Mutex
	isOpen bool
	conns  []net.Conn
}

func newWay(t *testing.T) *way {
	t.Helper()
	config, err := pgx.ParseConfig(os.Getenv(databaseVariable))
	ok(t, err)
	w := &way{dir: t.TempDir()}
	w.network, w.server = pgconn.NetworkAddress(config.Host, config.Port)
	w.open(t)
	t.Cleanup(w.shut)
	return w
}

// address is that of a schema by this way.
func (w *way) address(t *testing.T, schema string) string {
	t.Helper()
	at, err := url.Parse(address(t, schema))
	ok(t, err)
	at.Host = ""
	setQuery(at, "host", w.dir)
	setQuery(at, "port", "5432")
	return at.String()
}

func (w *way) open(t *testing.T) {
	t.Helper()
	var err error
	w.listener, err = net.Listen("unix", filepath.Join(w.dir, ".s.PGSQL.5432"))
	ok(t, err)
	w.mu.Lock()
	w.isOpen = true
	w.mu.Unlock()
	w.running.Go(func() {
		for {
			conn, err := w.listener.Accept()
			if err != nil {
				return // it was shut
			}
			w.running.Go(func() { w.carry(conn) })
		}
	})
}

// carry takes what comes to the server and back, until one of them ends or it is shut.
func (w *way) carry(conn net.Conn) {
	server, err := net.Dial(w.network, w.server)
	if err != nil {
		_ = conn.Close() // who has called sees it
		return
	}
	w.mu.Lock()
	w.conns = append(w.conns, conn, server)
	if !w.isOpen {
		_, _ = conn.Close(), server.Close()
	}
	w.mu.Unlock()
	w.running.Go(func() {
		_, _ = io.Copy(server, conn) // until it is shut
		_ = server.Close()
	})
	_, _ = io.Copy(conn, server)
	_ = conn.Close()
}

// shut ends all connections, and lets nobody in.
func (w *way) shut() {
	_ = w.listener.Close() // it may be shut already
	w.mu.Lock()
	w.isOpen = false
	for _, conn := range w.conns {
		_ = conn.Close()
	}
	w.conns = nil
	w.mu.Unlock()
	w.running.Wait()
}
