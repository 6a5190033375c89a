package sqlite

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"sync"

	"github.com/massgen/massgen/internal/storage/sqlstore"
	"github.com/massgen/massgen/internal/system/filelock"
	"github.com/massgen/massgen/sessions"
)

// holds are the turns of this Store that hold their sessions, each by a lock of the system.
// They implement sqlstore.Holds.
type holds struct {
	file  opened
	db    *sqlstore.DB
	texts *texts

	mu      sync.Mutex
	running map[string]*running
}

// running is a turn that holds its session.
type running struct {
	number int
	lock   *filelock.Lock
	began  int64 // a moment of texts

	mu   sync.Mutex // one change of the turn at a time
	turn sqlstore.Running
	over bool
}

// Acquire implements sqlstore.Holds.
func (h *holds) Acquire(ctx context.Context, id string, next func(sqlstore.Last) (sqlstore.Running, error)) error {
	lock, err := h.hold(ctx, id)
	if err != nil {
		return err
	}
	last, err := h.db.LastTurn(ctx, id)
	if err != nil {
		return errors.Join(err, lock.Release())
	}
	turn, err := next(last)
	if err != nil {
		return errors.Join(err, lock.Release())
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.running[id] = &running{number: turn.Number, lock: lock, began: h.texts.tick(), turn: turn}
	return nil
}

// Write implements sqlstore.Holds.
func (h *holds) Write(ctx context.Context, what, id string, turn int, ends bool, do func(*sqlstore.Tx, *sqlstore.Running)) error {
	return h.during(id, turn, func(r *running) error {
		if there := h.file.isThere(); errors.Is(there, errReplaced) {
			return fault(h.file.path, what, there)
		}
		held, err := r.lock.Keep()
		if err != nil {
			return fault(h.file.path, "look after the lock of session "+id, err)
		}
		if !held {
			return fmt.Errorf("%s: the file of its lock was removed, and another process has taken session %s: nothing more of this turn is kept (%w)", what, id, sessions.ErrBusy)
		}
		var changed sqlstore.Running
		err = h.db.Change(ctx, what, func(w *sqlstore.Tx) {
			changed = r.turn
			do(w, &changed)
		})
		if err != nil {
			return err
		}
		r.turn = changed
		if !ends {
			return nil
		}
		return h.letGo(id, r)
	})
}

// LetGo implements sqlstore.Holds.
func (h *holds) LetGo(_ context.Context, id string, turn int) (held bool, err error) {
	err = h.during(id, turn, func(r *running) error { return h.letGo(id, r) })
	if errors.Is(err, sessions.ErrNotRunning) {
		return false, nil
	}
	return true, err
}

// during does something to the turn that holds a session, while nobody else does.
func (h *holds) during(id string, turn int, do func(*running) error) error {
	h.mu.Lock()
	r := h.running[id]
	h.mu.Unlock()
	if r == nil || r.number != turn {
		return sessions.NotRunning(id, turn)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.over {
		return sessions.NotRunning(id, turn)
	}
	return do(r)
}

// letGo ends what a turn holds, and forgets the texts that no running turn can have put. The
// caller has the turn's lock.
func (h *holds) letGo(id string, r *running) error {
	r.over = true
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.running[id] != r { // Close was here
		return nil
	}
	delete(h.running, id)
	first := int64(math.MaxInt64)
	for r := range maps.Values(h.running) {
		first = min(first, r.began)
	}
	h.texts.sweep(first)
	return fault(h.file.path, "unlock session "+id, r.lock.Release())
}

// letGoOfAll ends what all turns hold.
func (h *holds) letGoOfAll() (err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for id, r := range h.running {
		err = errors.Join(err, r.lock.Release())
		delete(h.running, id)
	}
	return err
}

// runs reports whether a turn of this Store holds a session.
func (h *holds) runs(id string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.running[id] != nil
}

// Alone implements sqlstore.Holds.
func (h *holds) Alone(ctx context.Context, what, id string, erases bool, do func(*sqlstore.Tx)) error {
	err := h.Unheld(ctx, id, func() error { return h.db.Change(ctx, what, do) })
	if err != nil || !erases {
		return err
	}
	return emptyLog(ctx, h.db)
}

// Unheld implements sqlstore.Holds.
func (h *holds) Unheld(ctx context.Context, id string, do func() error) error {
	lock, err := h.hold(ctx, id)
	if err != nil {
		return err
	}
	return errors.Join(do(), fault(h.file.path, "unlock session "+id, lock.Release()))
}

// emptyLog moves what SQLite's log holds to the file, as far as nobody is reading it, so
// that no copy of what was deleted stays there.
func emptyLog(ctx context.Context, db *sqlstore.DB) error {
	return db.Fault("empty the log", db.Exec(ctx, "PRAGMA wal_checkpoint(TRUNCATE)"))
}
