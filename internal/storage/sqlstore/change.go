package sqlstore

import (
	"context"
	"time"

	"github.com/massgen/massgen/sessions"
)

// Set implements sessions.Backing.
func (s *Store) Set(ctx context.Context, id string, title *string, metadata map[string]string) error {
	return s.db.Change(ctx, "change session "+id, func(w *Tx) {
		session := w.session(id)
		if title != nil {
			w.Exec("UPDATE sessions SET title = $2 WHERE id = $1", session, *title)
			w.index("sessions", Indexed{session, []string{*title}})
		}
		w.setMetadata(session, metadata)
	})
}

// session returns the row id of a session that must exist. The session stays until the
// transaction's end.
func (w *Tx) session(name string) int64 {
	id := w.ID("SELECT id FROM sessions WHERE name = $1{lock_row}", name)
	if id == 0 {
		w.Refuse(sessions.NoSession(name))
	}
	return id
}

func (w *Tx) setMetadata(session int64, metadata map[string]string) {
	for key, value := range metadata {
		if value == "" {
			w.Exec("DELETE FROM metadata WHERE session = $1 AND key = $2", session, key)
			continue
		}
		w.Exec(`
			INSERT INTO metadata (session, key, value) VALUES ($1, $2, $3)
			ON CONFLICT (session, key) DO UPDATE SET value = excluded.value`, session, key, value)
	}
}

// mustBeNew refuses an id that exists already.
func (w *Tx) mustBeNew(id string) {
	if w.ID("SELECT id FROM sessions WHERE name = $1", id) != 0 {
		w.Refuse(sessions.Exists(id))
	}
}

// mustBeUnused refuses a session that was used at a time or later. A zero time refuses none.
func (w *Tx) mustBeUnused(id string, since time.Time) {
	if !since.IsZero() && w.ID("SELECT id FROM sessions WHERE name = $1 AND updated >= $2", id, w.db.Time(since)) != 0 {
		w.Refuse(sessions.ErrUsed)
	}
}

// Delete implements sessions.Backing. A session of more than one batch disappears first.
func (s *Store) Delete(ctx context.Context, id string, unusedSince time.Time) error {
	what := "delete session " + id
	ends, err := s.ends(ctx, id, mostDropped)
	if err != nil {
		return err
	}
	if len(ends) <= 1 {
		return s.holds.Alone(ctx, what, id, true, func(w *Tx) {
			w.mustBeUnused(id, unusedSince)
			w.delete(id)
		})
	}
	if err := s.DropLost(ctx); err != nil {
		return err
	}
	hidden := hiddenName()
	if err := s.holds.Alone(ctx, what, id, false, func(w *Tx) {
		w.mustBeUnused(id, unusedSince)
		w.hide(id, hidden)
	}); err != nil {
		return err
	}
	return s.drop(context.WithoutCancel(ctx), hidden)
}

func (w *Tx) delete(name string) {
	session := w.session(name)
	if w.err != nil {
		return
	}
	const turns = "(SELECT id FROM turns WHERE session = $1)"
	drop := w.db.Orphan(w, session)
	w.Exec("DELETE FROM events WHERE turn IN "+turns, session)
	w.Exec("DELETE FROM refs WHERE turn IN "+turns, session)
	w.Exec("DELETE FROM turns WHERE session = $1", session)
	w.Exec("DELETE FROM metadata WHERE session = $1", session)
	w.Exec("DELETE FROM sessions WHERE id = $1", session)
	drop()
}
