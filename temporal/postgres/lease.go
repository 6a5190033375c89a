package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/massgen/massgen/sessions"
)

// beatsPerLease is how often a lease is prolonged in the time that it lasts: one beat
// or two may be lost.
const beatsPerLease = 3

// hold is a session that an owner holds.
type hold struct{ session, owner string }

// now is the server's time as stores keep it.
const now = "date_trunc('milliseconds', clock_timestamp())"

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
	const held = `
		UPDATE holds SET until = greatest(until, clock_timestamp() + seconds * interval '1 second')
		FROM unnest($1::text[], $2::text[], $3::float8[]) AS mine (session, holder, seconds)
		WHERE name = session AND owner = holder
		RETURNING name, owner`
	list, err := rowsIn(ctx, s.pool, s.name, "prolong the leases", scanHold, held, names, owners, seconds)
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
func (s *Store) keepUp(id string) {
	if s.shared {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.holds[hold{id, s.owner}] = s.lease
}

// AtWork has the lease of a session prolonged until rest is called, once, for an owner who
// is at work in several processes: what one of them holds is not kept up by another that
// has nothing to do with it any more.
func (s *Store) AtWork(id string) (rest func()) {
	h := hold{id, s.owner}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.holds[h] = s.lease
	s.atWork[h]++
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.atWork[h]--; s.atWork[h] == 0 {
			delete(s.atWork, h)
			delete(s.holds, h)
		}
	}
}

// giveUp has it prolonged no more.
func (s *Store) giveUp(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.holds, hold{id, s.owner})
}

// take holds a session that nobody holds, until the transaction's end if it is not told
// for which turn. It returns the server's time.
func (w *writer) take(s *Store, id string) (at time.Time) {
	taken := w.row(`
		INSERT INTO holds (name, owner, turn, question, began, until)
		VALUES ($1, $2, 0, '', nextval('moments'), clock_timestamp() + $3::float8 * interval '1 second')
		ON CONFLICT (name) DO UPDATE
		SET owner = excluded.owner, turn = 0, question = '', cut = '{}', began = excluded.began, until = excluded.until
		WHERE holds.until < clock_timestamp()
		RETURNING `+now, []any{id, s.owner, s.lease.Seconds()}, &at)
	if !taken {
		w.refuse(sessions.ErrBusy)
	}
	return at
}

// alone runs a transaction while no turn of a session runs, in any process.
func (s *Store) alone(ctx context.Context, id, what string, run func(context.Context, string, func(*writer)) error, do func(w *writer, at time.Time)) error {
	if err := sessions.CheckID(id); err != nil {
		return err
	}
	return run(ctx, what, func(w *writer) {
		do(w, w.take(s, id))
		w.exec("DELETE FROM holds WHERE name = $1", id)
		w.sweep()
	})
}

// running is a turn that holds its session.
type running struct {
	number   int
	question string
	row      rows           // its turn is 0 before there is anything to keep
	cut      sessions.Usage // of the turn that it gives up
	at       time.Time      // now, by the server's clock
	// committed says that only usage and events may be added.
	committed bool
}

// rows are the ids of a session and a turn of it.
type rows struct{ session, turn int64 }

// mine returns the turn for which this owner holds a session, and prolongs the lease.
// Until the transaction's end nobody else writes for this session, or takes it.
func (w *writer) mine(s *Store, id string, turn int) running {
	r := running{number: turn}
	var question []byte
	held := w.row(`
		UPDATE holds SET until = greatest(until, clock_timestamp() + $4::float8 * interval '1 second')
		WHERE name = $1 AND owner = $2 AND turn = $3
		RETURNING question, cut, `+now, []any{id, s.owner, turn, s.lease.Seconds()}, &question, &r.cut, &r.at)
	if !held {
		w.notMine(s, id, turn)
	}
	r.question = string(question)
	var kept *int64
	var status *string
	w.row(`
		SELECT sessions.id, turns.id, status FROM sessions
		LEFT JOIN turns ON session = sessions.id AND number = $2
		WHERE name = $1`, []any{id, turn}, &r.row.session, &kept, &status)
	if kept != nil {
		r.row.turn, r.committed = *kept, *status != string(sessions.Running)
	}
	return r
}

// notMine refuses to write for a turn that this owner does not hold a session for.
func (w *writer) notMine(s *Store, id string, turn int) {
	var until time.Time
	refusal := sessions.NotRunning(id, turn)
	if w.row("SELECT until FROM holds WHERE name = $1 AND owner <> $2", []any{id, s.owner}, &until) {
		refusal = fmt.Errorf("%w: another process holds the session, perhaps since this one was out of the database's reach for longer than %v", refusal, s.lease)
	}
	w.refuse(refusal)
}

// letGo ends what a turn holds, whatever has become of ctx, and says whether it held
// anything.
func (s *Store) letGo(ctx context.Context, id string, turn int) (gone bool, err error) {
	s.giveUp(id)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	err = s.change(ctx, "let go of session "+id, func(w *writer) { gone = w.letGo(s, id, turn) })
	return gone, err
}

func (w *writer) letGo(s *Store, id string, turn int) (gone bool) {
	gone = w.exec("DELETE FROM holds WHERE name = $1 AND owner = $2 AND turn = $3", id, s.owner, turn) > 0
	w.sweep()
	return gone
}
