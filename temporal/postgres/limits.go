package postgres

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"sync"
	"time"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/internal/models/retry"
	"github.com/massgen/massgen/internal/system/sleep"
)

// Limiter returns a limiter that shares the limits of an account with all limiters for the
// same account and the same limits in this database. account is not a secret: the database
// keeps a hash of it that does not help against guessing.
//
// An attempt holds its place by a lease, like a session, so the places of a dead worker become
// free when their leases end. A worker that cannot reach the database for longer than a lease
// continues its attempts, although others may take their places.
func (s *Store) Limiter(account string, l retry.Limits) retry.Limiter {
	return newLimiter(s.owner, account, l, time.Minute)
}

func newLimiter(o *owner, account string, l retry.Limits, minute time.Duration) *limiter {
	name := sha256.Sum256(fmt.Appendf(nil, "%q %d %d %d", account, l.Concurrent, l.RequestsPerMinute, l.TokensPerMinute))
	return &limiter{
		server: o.server, account: hex.EncodeToString(name[:]), limits: l, minute: minute, lease: o.lease,
		endPatience: endPatience, turn: make(chan struct{}, 1),
	}
}

// limiter is a retry.Limiter on an account of the database.
type limiter struct {
	*server
	account string
	limits  retry.Limits
	minute  time.Duration
	lease   time.Duration
	// endPatience is how long the end of an attempt waits for the database.
	endPatience time.Duration

	// turn is held by the one attempt that waits here: those of one process are served in
	// the order in which they come, and ask the database one at a time.
	turn   chan struct{}
	isMade bool // that the account is there; for the holder of turn

	endsMu sync.Mutex
	ends   []ending // that are not written
}

// ending is what an attempt came to.
type ending struct {
	attempt string
	// isUnsure says that nobody knows whether it was booked, or still will be: the server
	// goes on with a statement whose client has gone.
	isUnsure bool
	requests int
	// tokens is nil where nobody knows.
	tokens *int
}

// Reserve implements retry.Limiter. While the database is away it waits.
func (l *limiter) Reserve(ctx context.Context, tokens int) (backends.Reservation, error) {
	select {
	case l.turn <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	defer func() { <-l.turn }()
	b := booking{l, rand.Text()}
	for {
		wait, err := l.book(ctx, b.attempt, tokens)
		if err == nil && wait == 0 {
			l.keepAttempt(b.attempt, l.lease)
			return b, nil
		}
		isUnsure := err != nil
		if err == nil {
			err = sleep.For(ctx, wait)
		}
		if err != nil {
			b.release(isUnsure) // it may be the next one
			return nil, fault(l.name, "keep the limits of use", err)
		}
	}
}

// book books an attempt, or says after which time to ask again.
func (l *limiter) book(ctx context.Context, attempt string, tokens int) (wait time.Duration, err error) {
	err = l.persistently(ctx, func(ctx context.Context) error {
		if err := l.makeAccount(ctx); err != nil {
			return err
		}
		if err := l.writeEnds(ctx); err != nil {
			return err
		}
		var seconds float64
		err := l.pool.QueryRow(ctx, "SELECT book_attempt($1, $2, $3, $4)", l.account, attempt, tokens, l.lease.Seconds()).Scan(&seconds)
		wait = time.Duration(seconds * float64(time.Second))
		return err
	})
	l.isMade = err == nil // it is made anew if somebody has deleted it
	return wait, err
}

// makeAccount makes the account if nobody has.
func (l *limiter) makeAccount(ctx context.Context) error {
	if l.isMade {
		return nil
	}
	requestBurst, requestInflow := l.bucket(l.limits.RequestsPerMinute)
	tokenBurst, tokenInflow := l.bucket(l.limits.TokensPerMinute)
	_, err := l.pool.Exec(ctx, `
		INSERT INTO accounts (name, places, request_burst, request_inflow, requests, token_burst, token_inflow, tokens, filled)
		VALUES ($1, $2, $3, $4, $3, $5, $6, $5, clock_timestamp())
		ON CONFLICT DO NOTHING`,
		l.account, l.limits.Concurrent, requestBurst, requestInflow, tokenBurst, tokenInflow)
	return err
}

// bucket is that of a limit, with what flows into it in a second.
func (l *limiter) bucket(limit int) (burst, inflow float64) {
	if limit <= 0 {
		return 0, 0
	}
	most, inMinute := retry.Bucket(limit)
	return float64(most), float64(inMinute) / l.minute.Seconds()
}

// booking is an attempt that was booked.
type booking struct {
	*limiter
	attempt string
}

func (b booking) Release() { b.release(false) }

func (b booking) release(isUnsure bool) {
	none := 0
	b.end(ending{attempt: b.attempt, isUnsure: isUnsure, requests: 0, tokens: &none})
}

func (b booking) Settle(usage *backends.Usage) {
	e := ending{attempt: b.attempt, requests: 1}
	if usage != nil {
		used := usage.InputTokens + usage.OutputTokens
		e.tokens = &used
	}
	b.end(e)
}

// endPatience is that of all limiters but those of tests.
const endPatience = time.Second

// end books what an attempt came to, now or, if the database is away, before the next one
// of this process.
func (l *limiter) end(e ending) {
	l.giveUpAttempt(e.attempt)
	l.endsMu.Lock()
	l.ends = append(l.ends, e)
	l.endsMu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), l.endPatience)
	defer cancel()
	_ = l.db.Patiently(ctx, func() error { return l.writeEnds(ctx) }) // what is left is written later
}

// writeEnds writes what attempts came to. Doing that again changes nothing.
func (l *limiter) writeEnds(ctx context.Context) error {
	l.endsMu.Lock()
	ends := l.ends
	l.ends = nil
	l.endsMu.Unlock()
	for i, e := range ends {
		if err := l.writeEnd(ctx, e); err != nil {
			l.endsMu.Lock()
			l.ends = append(l.ends, ends[i:]...)
			l.endsMu.Unlock()
			return err
		}
	}
	return nil
}

func (l *limiter) writeEnd(ctx context.Context, e ending) error {
	if e.isUnsure {
		if err := l.withdraw(ctx, e.attempt); err != nil {
			return err
		}
	}
	_, err := l.pool.Exec(ctx, `
		SELECT end_attempt($1, $2, $3, $4)
		WHERE NOT EXISTS (SELECT FROM attempts WHERE id = $2 AND tokens = $5)`, l.account, e.attempt, e.requests, e.tokens, withdrawn)
	return err
}

// withdraw leaves a row where an attempt is not booked: what comes too late to book it finds
// that row, and does nothing. The row's key waits for whoever books in this account just now.
func (l *limiter) withdraw(ctx context.Context, attempt string) error {
	_, err := l.pool.Exec(ctx, `
		INSERT INTO attempts (id, account, tokens, booked, until)
		SELECT $2, name, $3, clock_timestamp(), clock_timestamp() FROM accounts WHERE name = $1
		ON CONFLICT DO NOTHING`, l.account, attempt, withdrawn)
	if err != nil {
		return err
	}
	_, err = l.pool.Exec(ctx, "UPDATE accounts SET next = '' WHERE name = $1 AND next = $2", l.account, attempt)
	return err
}

// withdrawn is what an attempt has in place of its tokens if it was given up before it was
// booked. Its row is kept for a day.
const withdrawn = -1

// keepAttempt has the lease of an attempt prolonged from now on.
func (s *server) keepAttempt(attempt string, lease time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.attempts[attempt] = lease
}

// giveUpAttempt stops prolonging the lease of an attempt.
func (s *server) giveUpAttempt(attempt string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.attempts, attempt)
}

// prolongAttempts prolongs the leases of all attempts that run through this server.
func (s *server) prolongAttempts(ctx context.Context) error {
	var attempts []string
	var seconds []float64
	s.mu.Lock()
	for attempt, lease := range s.attempts {
		attempts, seconds = append(attempts, attempt), append(seconds, lease.Seconds())
	}
	s.mu.Unlock()
	if len(attempts) == 0 {
		return nil
	}
	_, err := s.pool.Exec(ctx, `
		UPDATE attempts SET until = clock_timestamp() + seconds * interval '1 second', lease_seconds = seconds
		FROM unnest($1::text[], $2::float8[]) AS mine (attempt, seconds)
		WHERE id = attempt`, attempts, seconds)
	return err
}

// persistently does something until it is done, the context ends, or it fails by what does
// not pass. It is done again also if nobody knows whether it was.
func (s *server) persistently(ctx context.Context, do func(context.Context) error) error {
	for {
		err := s.db.Patiently(ctx, func() error {
			try, cancel := context.WithTimeout(ctx, patience) // a connection that is parted would wait for minutes
			defer cancel()
			return do(try)
		})
		if err == nil || ctx.Err() != nil || !passes(err) {
			return err
		}
	}
}
