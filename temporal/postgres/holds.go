package postgres

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/massgen/massgen/internal/storage/sqlstore"
	"github.com/massgen/massgen/internal/system/sleep"
	"github.com/massgen/massgen/sessions"
)

// leases are the holds of an owner. They implement sqlstore.Holds.
type leases struct{ owner *owner }

// Acquire implements sqlstore.Holds.
func (o leases) Acquire(ctx context.Context, id string, next func(sqlstore.Last) (sqlstore.Running, error)) error {
	err := o.owner.whenFree(ctx, id, func() error {
		return o.owner.db.Change(ctx, "hold session "+id, func(w *sqlstore.Tx) {
			o.owner.take(w, id)
			turn, err := next(w.LastTurn(id))
			w.Refuse(err)
			w.Exec("UPDATE holds SET turn = $2, question = $3 WHERE name = $1", id, turn.Number, []byte(turn.Question))
		})
	})
	if err == nil {
		o.owner.keepUp(id)
	}
	return err
}

// whenFree runs change, which takes a session. If the session is held by a lease of a clock that
// was ahead, its owner may live or be dead: whenFree ends the lease after its length from now,
// and waits until the lease is over or its owner has prolonged it.
func (o *owner) whenFree(ctx context.Context, id string, change func() error) error {
	err := change()
	if !errors.Is(err, sessions.ErrBusy) {
		return err
	}
	var end time.Time
	var isWaiting bool
	fault := o.db.Change(ctx, "find out how long session "+id+" is held", func(w *sqlstore.Tx) {
		isWaiting = w.Row("UPDATE holds SET until = "+inALease+" WHERE name = $1 AND "+isTooLate+" RETURNING until", []any{id}, &end)
	})
	for fault == nil && isWaiting && errors.Is(err, sessions.ErrBusy) {
		if fault = sleep.For(ctx, pause); fault == nil {
			err = change()
		}
		ends, lookErr := sqlstore.Rows(ctx, o.db, "find out how long session "+id+" is held", sqlstore.Scan[time.Time],
			"SELECT until FROM holds WHERE name = $1", id)
		fault = cmp.Or(fault, lookErr)
		isWaiting = len(ends) > 0 && ends[0].Equal(end)
	}
	return cmp.Or(fault, err)
}

// Held returns the turn for which this owner holds a session, as Begin or Resume has
// returned it, and false if it holds none. It is for a caller that missed Begin's reply.
func (s *Store) Held(ctx context.Context, id string) (b sessions.Begun, held bool, err error) {
	turns, err := sqlstore.Rows(ctx, s.owner.db, "look who holds session "+id, sqlstore.Scan[int],
		"SELECT turn FROM holds WHERE name = $1 AND owner = $2", id, s.owner.id)
	if err != nil || len(turns) == 0 {
		return sessions.Begun{}, false, err
	}
	last, err := s.owner.db.LastTurn(ctx, id)
	if err != nil {
		return sessions.Begun{}, false, err
	}
	s.owner.keepUp(id)
	return last.Begun(turns[0]), true, nil
}

// isHolder reports whether this owner holds a session for a turn. The hold does not end before the
// transaction does, and others may prolong it meanwhile.
func (o *owner) isHolder(w *sqlstore.Tx, id string, turn int) bool {
	var one int
	return w.Row("SELECT 1 FROM holds WHERE name = $1 AND owner = $2 AND turn = $3 FOR KEY SHARE", []any{id, o.id, turn}, &one)
}

// take holds a session that nobody holds, until the transaction's end if it is not told for
// which turn. The transaction's time is the server's from then on.
func (o *owner) take(w *sqlstore.Tx, id string) {
	o.hasHeld.Store(true)
	taken := w.Row(`
		INSERT INTO holds (name, owner, turn, question, began, until, lease_seconds)
		VALUES ($1, $2, 0, '', nextval('moments'), clock_timestamp() + $3::float8 * interval '1 second', $3)
		ON CONFLICT (name) DO UPDATE
		SET owner = excluded.owner, turn = 0, question = '', cut = '{}', began = excluded.began, until = excluded.until,
			lease_seconds = excluded.lease_seconds
		WHERE holds.until < clock_timestamp()
		RETURNING `+now, []any{id, o.id, o.lease.Seconds()}, &w.At)
	if !taken {
		w.Refuse(sessions.ErrBusy)
	}
	w.Exec("DELETE FROM results WHERE session = $1", id) // of whoever held it before
}

// Write implements sqlstore.Holds.
func (o leases) Write(ctx context.Context, what, id string, turn int, ends bool, do func(*sqlstore.Tx, *sqlstore.Running)) error {
	err := o.owner.db.Change(ctx, what, func(w *sqlstore.Tx) {
		r := o.owner.mine(w, id, turn)
		if w.Failed() {
			return
		}
		before := r.Cut
		do(w, &r)
		if r.Cut != before {
			data, err := json.Marshal(r.Cut)
			w.Refuse(err)
			w.Exec("UPDATE holds SET cut = $2 WHERE name = $1", id, string(data))
		}
		if ends {
			o.owner.letGo(w, id, turn)
		}
	})
	if err == nil && ends {
		o.owner.giveUp(id)
	}
	return err
}

// mine returns the turn for which this owner holds a session, and prolongs the lease. Until
// the transaction's end nobody else writes for this session, or takes it.
func (o *owner) mine(w *sqlstore.Tx, id string, turn int) sqlstore.Running {
	var question, cut []byte
	held := w.Row(`
		UPDATE holds SET until = clock_timestamp() + $4::float8 * interval '1 second', lease_seconds = $4
		WHERE name = $1 AND owner = $2 AND turn = $3
		RETURNING question, cut, `+now, []any{id, o.id, turn, o.lease.Seconds()}, &question, &cut, &w.At)
	if !held {
		o.notMine(w, id, turn)
		return sqlstore.Running{}
	}
	r := w.Running(id, turn)
	r.Question = string(question)
	w.Refuse(json.Unmarshal(cut, &r.Cut))
	return r
}

// notMine refuses to write for a turn that this owner does not hold a session for.
func (o *owner) notMine(w *sqlstore.Tx, id string, turn int) {
	var until time.Time
	refusal := sessions.NotRunning(id, turn)
	if w.Row("SELECT until FROM holds WHERE name = $1 AND owner <> $2", []any{id, o.id}, &until) {
		refusal = fmt.Errorf("%w: another process holds the session, perhaps since this one was out of the database's reach for longer than %v", refusal, o.lease)
	}
	w.Refuse(refusal)
}

// LetGo implements sqlstore.Holds.
func (o leases) LetGo(ctx context.Context, id string, turn int) (held bool, err error) {
	o.owner.giveUp(id)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	err = o.owner.db.Change(ctx, "let go of session "+id, func(w *sqlstore.Tx) { held = o.owner.letGo(w, id, turn) })
	return held, err
}

func (o *owner) letGo(w *sqlstore.Tx, id string, turn int) (held bool) {
	held = w.Exec("DELETE FROM holds WHERE name = $1 AND owner = $2 AND turn = $3", id, o.id, turn) > 0
	sweep(w)
	return held
}

// Alone implements sqlstore.Holds.
func (o leases) Alone(ctx context.Context, what, id string, erases bool, do func(*sqlstore.Tx)) error {
	change := o.owner.db.Change
	if erases {
		change = o.owner.db.Forget
	}
	return o.owner.whenFree(ctx, id, func() error {
		return change(ctx, what, func(w *sqlstore.Tx) {
			o.owner.take(w, id)
			do(w)
			w.Exec("DELETE FROM holds WHERE name = $1", id)
			sweep(w)
		})
	})
}

// Unheld implements sqlstore.Holds. What do reads looks for a hold itself.
func (o leases) Unheld(_ context.Context, _ string, do func() error) error { return do() }
