package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
)

// beatsPerLease is how often a lease is prolonged in the time that it lasts: one beat
// or two may be lost.
const beatsPerLease = 3

// hold is a session that an owner holds.
type hold struct{ session, owner string }

// abandoned is how long a lease may be over before nobody expects its owner back.
const abandoned = "interval '1 day'"

// beat begins to prolong the leases, again and again.
func (s *server) beat(every time.Duration) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	s.stop = func() {
		cancel()
		<-done
	}
	go func() {
		defer close(done)
		ticker := time.NewTicker(every)
		defer ticker.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-ticker.C:
				_ = within(ctx, every/2, s.prolong)         // the next beat tries again, and who writes is told when a hold is lost
				_ = within(ctx, every/2, s.prolongAttempts) // likewise
			}
		}
	}()
}

// within runs something that may wait for a row which another process has locked.
func within(ctx context.Context, most time.Duration, run func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	return run(ctx)
}

// prolong prolongs the leases of all that is held through this server, and no longer
// minds those that are held no more.
func (s *server) prolong(ctx context.Context) error {
	var names, owners []string
	var seconds []float64
	s.mu.Lock()
	for h, lease := range s.holds {
		names, owners, seconds = append(names, h.session), append(owners, h.owner), append(seconds, lease.Seconds())
	}
	s.mu.Unlock()
	if len(names) == 0 {
		return nil
	}
	// All lock the rows in one order, so that no two wait for each other, and in the mode of an update, so that none waits
	// for isHolder.
	const held = `
		WITH mine AS (
			SELECT name, owner, seconds FROM holds JOIN unnest($1::text[], $2::text[], $3::float8[]) AS given (session, holder, seconds)
			ON name = session AND owner = holder
			ORDER BY name FOR NO KEY UPDATE OF holds
		)
		UPDATE holds SET until = clock_timestamp() + seconds * interval '1 second', lease_seconds = seconds
		FROM mine WHERE holds.name = mine.name AND holds.owner = mine.owner
		RETURNING holds.name, holds.owner`
	rows, err := s.pool.Query(ctx, held, names, owners, seconds)
	if err != nil {
		return err
	}
	list, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (h hold, err error) {
		err = row.Scan(&h.session, &h.owner)
		return h, err
	})
	if err != nil {
		return err
	}
	still := map[hold]bool{}
	for _, h := range list {
		still[h] = true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, name := range names {
		if h := (hold{name, owners[i]}); !still[h] {
			delete(s.holds, h)
		}
	}
	return nil
}

// keepUp has the lease of a session prolonged from now on, if this process alone is its
// owner.
func (o *owner) keepUp(id string) {
	if o.shared {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.holds[hold{id, o.id}] = o.lease
}

// AtWork has the lease of a session prolonged until rest is called, once, for an owner who
// is at work in several processes: what one of them holds is not kept up by another that
// has nothing to do with it any more.
func (s *Store) AtWork(id string) (rest func()) {
	h := hold{id, s.owner.id}
	s.owner.mu.Lock()
	defer s.owner.mu.Unlock()
	s.owner.holds[h] = s.owner.lease
	s.owner.atWork[h]++
	return func() {
		s.owner.mu.Lock()
		defer s.owner.mu.Unlock()
		if s.owner.atWork[h]--; s.owner.atWork[h] == 0 {
			delete(s.owner.atWork, h)
			delete(s.owner.holds, h)
		}
	}
}

// giveUp stops prolonging the lease of a session.
func (o *owner) giveUp(id string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.holds, hold{id, o.id})
}
