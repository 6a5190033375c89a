package postgres

import (
	"context"
	"time"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/internal/models/retry"
	"github.com/massgen/massgen/internal/storage/sqlstore"
	"github.com/massgen/massgen/sessions"
)

// OpenFor opens a store whose leases last for so long.
func OpenFor(ctx context.Context, address string, lease time.Duration) (*Store, error) {
	return open(ctx, address, Use{}, lease, lease/beatsPerLease)
}

// OpenBeating opens a store whose leases last for so long, and are prolonged so often.
func OpenBeating(ctx context.Context, address string, lease, every time.Duration) (*Store, error) {
	return open(ctx, address, Use{}, lease, every)
}

// Part parts a store from the server as far as its leases go: they are prolonged no more.
func Part(s *Store) { s.owner.stop() }

// Vector is vector.
func Vector(texts ...string) string { return vector(texts...) }

// LimiterFor is Store.Limiter with a minute that lasts for so long.
func LimiterFor(s *Store, account string, l retry.Limits, minute time.Duration) retry.Limiter {
	return newLimiter(s.owner, account, l, minute)
}

// Patient is a limiter whose attempts' ends wait for the database as long as it takes.
func Patient(l retry.Limiter) retry.Limiter {
	l.(*limiter).endPatience = time.Minute
	return l
}

// BookedAt returns when an attempt was booked, by the server's clock.
func BookedAt(ctx context.Context, r backends.Reservation) (at time.Time, err error) {
	b := r.(booking)
	err = b.pool.QueryRow(ctx, "SELECT booked FROM attempts WHERE id = $1", b.attempt).Scan(&at)
	return at, err
}

// Steps is steps.
func Steps() sqlstore.Steps { return steps() }

// ListQuery returns the query of a list, in PostgreSQL's words.
func ListQuery(f sessions.Filter) (statement string, args []any) {
	d := dialect("")
	statement, args = d.ListQuery(f)
	return d.Translate(statement), args
}
