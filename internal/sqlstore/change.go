package sqlstore

import (
	"context"
	"database/sql"

	"github.com/massgen/massgen/sessions"
)

// SetTitle gives a session another title.
func (s *Store) SetTitle(ctx context.Context, id, title string) error {
	if err := sessions.CheckTitle(title); err != nil {
		return err
	}
	return s.db.Change(ctx, "change session "+id, func(w *Tx) {
		session := w.session(id)
		w.Exec("UPDATE sessions SET title = $2 WHERE id = $1", session, title)
		w.index("sessions", Indexed{session, []string{title}})
	})
}

// SetMetadata adds to a session's metadata, or changes it. An empty value takes its key away.
func (s *Store) SetMetadata(ctx context.Context, id string, metadata map[string]string) error {
	if err := sessions.CheckMetadata(metadata); err != nil {
		return err
	}
	return s.db.Change(ctx, "change session "+id, func(w *Tx) { w.setMetadata(w.session(id), metadata) })
}

// session returns the id of a session that must be there. It stays until the transaction's end.
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

// Branch makes a new session, to, that goes on after a turn of another as if the later ones
// had not been. It has its turns, but not their journals, and its usage begins at nothing.
func (s *Store) Branch(ctx context.Context, from string, turn int, to string) (sessions.Session, error) {
	return s.create(ctx, "branch session "+from, to, func(w *Tx) { w.branch(from, turn, to) })
}

// create runs a transaction that makes a session, and returns it.
func (s *Store) create(ctx context.Context, what, id string, do func(*Tx)) (sessions.Session, error) {
	if err := sessions.CheckID(id); err != nil {
		return sessions.Session{}, err
	}
	if err := s.quiet.Alone(ctx, what, id, false, do); err != nil {
		return sessions.Session{}, err
	}
	return s.Session(ctx, id)
}

// mustBeNew refuses an id that is taken.
func (w *Tx) mustBeNew(id string) {
	if w.ID("SELECT id FROM sessions WHERE name = $1", id) != 0 {
		w.Refuse(sessions.Exists(id))
	}
}

func (w *Tx) branch(from string, turn int, to string) {
	parent := w.session(from)
	w.mustBeNew(to)
	if w.ID("SELECT id FROM turns WHERE session = $1 AND number = $2 AND status <> 'running'", parent, turn) == 0 {
		w.Refuse(sessions.NoSuchTurn(from, turn))
	}
	branch := w.newSession(sessions.Session{ID: to, Parent: from, ParentTurn: turn, Created: w.At, Updated: w.At})
	w.Exec("INSERT INTO metadata (session, key, value) SELECT CAST($1 AS bigint), key, value FROM metadata WHERE session = $2", branch, parent)
	w.Exec(`
		INSERT INTO turns (session, number, question, answer, list, link, winner, status, started, ended, messages,
			calls, input_tokens, output_tokens, cached_tokens, unknown_calls, cost_usd{words})
		SELECT CAST($1 AS bigint), number, question, answer, list, link, winner, status, started, ended, messages,
			calls, input_tokens, output_tokens, cached_tokens, unknown_calls, cost_usd{words}
		FROM turns WHERE session = $2 AND number <= $3`, branch, parent, turn)
	w.Exec(`
		INSERT INTO refs (turn, text)
		SELECT id, question FROM turns WHERE session = $1
		UNION SELECT id, answer FROM turns WHERE session = $1 AND answer IS NOT NULL
		UNION SELECT id, list FROM turns WHERE session = $1 AND list IS NOT NULL
		UNION SELECT id, link FROM turns WHERE session = $1 AND link IS NOT NULL`, branch)
	w.nameLists(branch)
	w.Exec(`
		UPDATE sessions SET title = parent.title{parent_words}, turns = $3,
			head = (SELECT link FROM turns WHERE session = $1 AND link IS NOT NULL ORDER BY number DESC LIMIT 1),
			messages = (SELECT sum(messages) FROM turns WHERE session = $1)
		FROM sessions AS parent WHERE parent.id = $2 AND sessions.id = $1`, branch, parent, turn)
}

// nameLists keeps the texts that the lists of messages of a session name.
func (w *Tx) nameLists(session int64) {
	type list struct {
		turn int64
		ref  storedRef
	}
	lists := List(w, func(rows *sql.Rows) (l list, err error) {
		err = rows.Scan(&l.turn, &l.ref.sum, &l.ref.bytes)
		return l, err
	}, "SELECT turns.id, sha256, length(data) FROM turns JOIN texts ON texts.{key} = list WHERE session = $1", session)
	for _, l := range lists {
		w.nameMessages(l.turn, l.ref.ref())
	}
}

// Delete forgets a session, with the texts that no other needs. Branches of it stay whole.
// While a turn runs on the session, in any process, it returns ErrBusy.
func (s *Store) Delete(ctx context.Context, id string) error {
	if err := sessions.CheckID(id); err != nil {
		return err
	}
	return s.quiet.Alone(ctx, "delete session "+id, id, true, func(w *Tx) { w.delete(id) })
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
