package postgres

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/massgen/massgen/sessions"
)

// SetTitle gives a session another title.
func (s *Store) SetTitle(ctx context.Context, id, title string) error {
	if err := sessions.CheckTitle(title); err != nil {
		return err
	}
	return s.change(ctx, "change session "+id, func(w *writer) {
		if w.exec("UPDATE sessions SET title = $2, title_words = $3::tsvector WHERE name = $1", id, title, vector(title)) == 0 {
			w.refuse(sessions.NoSession(id))
		}
	})
}

// SetMetadata adds to a session's metadata, or changes it. An empty value takes
// its key away.
func (s *Store) SetMetadata(ctx context.Context, id string, metadata map[string]string) error {
	if err := sessions.CheckMetadata(metadata); err != nil {
		return err
	}
	return s.change(ctx, "change session "+id, func(w *writer) {
		w.setMetadata(w.session(id), metadata)
	})
}

// session returns the id of a session that must be there. Until the transaction's end
// it is not deleted.
func (w *writer) session(name string) int64 {
	id := w.id("SELECT id FROM sessions WHERE name = $1 FOR NO KEY UPDATE", name)
	if id == 0 {
		w.refuse(sessions.NoSession(name))
	}
	return id
}

func (w *writer) setMetadata(session int64, metadata map[string]string) {
	for key, value := range metadata {
		if value == "" {
			w.exec("DELETE FROM metadata WHERE session = $1 AND key = $2", session, key)
			continue
		}
		w.exec(`
			INSERT INTO metadata (session, key, value) VALUES ($1, $2, $3)
			ON CONFLICT (session, key) DO UPDATE SET value = excluded.value`, session, key, value)
	}
}

// Branch makes a new session, to, that goes on after a turn of another as if the
// later ones had not been. It has its turns, but not their journals, and its
// usage begins at nothing.
func (s *Store) Branch(ctx context.Context, from string, turn int, to string) (sessions.Session, error) {
	err := s.alone(ctx, to, "branch session "+from, s.change, func(w *writer, at time.Time) { w.branch(from, turn, to, at) })
	if err != nil {
		return sessions.Session{}, err
	}
	return s.Session(ctx, to)
}

func (w *writer) branch(from string, turn int, to string, at time.Time) {
	parent := w.session(from)
	switch {
	case w.err != nil:
		return
	case w.id("SELECT id FROM sessions WHERE name = $1", to) != 0:
		w.refuse(sessions.Exists(to))
	case w.id("SELECT id FROM turns WHERE session = $1 AND number = $2 AND status <> 'running'", parent, turn) == 0:
		w.refuse(sessions.NoSuchTurn(from, turn))
	}
	branch := w.newSession(sessions.Session{ID: to, Parent: from, ParentTurn: turn, Created: at, Updated: at})
	w.exec("INSERT INTO metadata (session, key, value) SELECT $1, key, value FROM metadata WHERE session = $2", branch, parent)
	w.exec(`
		INSERT INTO turns (session, number, question, answer, list, link, winner, status, started, ended, messages,
			calls, input_tokens, output_tokens, cached_tokens, unknown_calls, cost_usd, words)
		SELECT $1, number, question, answer, list, link, winner, status, started, ended, messages,
			calls, input_tokens, output_tokens, cached_tokens, unknown_calls, cost_usd, words
		FROM turns WHERE session = $2 AND number <= $3`, branch, parent, turn)
	w.exec(`
		INSERT INTO refs (turn, text)
		SELECT DISTINCT id, text FROM turns, unnest(ARRAY[question, answer, list, link]) AS text
		WHERE session = $1 AND text IS NOT NULL`, branch)
	w.nameLists(branch)
	w.exec(`
		UPDATE sessions SET title = parent.title, title_words = parent.title_words, turns = $3,
			head = (SELECT link FROM turns WHERE session = $1 AND link IS NOT NULL ORDER BY number DESC LIMIT 1),
			messages = (SELECT sum(messages) FROM turns WHERE session = $1)
		FROM sessions AS parent WHERE parent.id = $2 AND sessions.id = $1`, branch, parent, turn)
}

// nameLists keeps the texts that the lists of messages of a session name.
func (w *writer) nameLists(session int64) {
	type list struct {
		turn int64
		ref  storedRef
	}
	lists := collect(w, func(row pgx.CollectableRow) (l list, err error) {
		err = row.Scan(&l.turn, &l.ref.sum, &l.ref.bytes)
		return l, err
	}, "SELECT turns.id, sha256, length(data) FROM turns JOIN texts ON sha256 = list WHERE session = $1", session)
	for _, l := range lists {
		w.nameList(l.turn, l.ref.ref())
	}
}

// Delete forgets a session, with the texts that no other needs; their bytes leave the
// server's files when it cleans up. Branches of it stay whole. While a turn runs on the
// session, in any process, it returns ErrBusy.
func (s *Store) Delete(ctx context.Context, id string) error {
	return s.alone(ctx, id, "delete session "+id, s.forget, func(w *writer, _ time.Time) { w.delete(id) })
}

func (w *writer) delete(name string) {
	session := w.session(name)
	const turns = "(SELECT id FROM turns WHERE session = $1)"
	// Nobody has put them, so they go if nothing else names them.
	w.exec("INSERT INTO fresh (text, put) SELECT DISTINCT text, 0 FROM refs WHERE turn IN "+turns+" ON CONFLICT DO NOTHING", session)
	w.exec("DELETE FROM events WHERE turn IN "+turns, session)
	w.exec("DELETE FROM refs WHERE turn IN "+turns, session)
	w.exec("DELETE FROM turns WHERE session = $1", session)
	w.exec("DELETE FROM metadata WHERE session = $1", session)
	w.exec("DELETE FROM sessions WHERE id = $1", session)
}

// Reset forgets a session, if there is one: its next turn is the first again.
func (s *Store) Reset(ctx context.Context, id string) error {
	if err := s.Delete(ctx, id); !errors.Is(err, sessions.ErrNoSession) {
		return err
	}
	return nil
}

// Compact forgets texts that nothing names and nobody can name any more, and has the
// server clean up after all that was deleted.
func (s *Store) Compact(ctx context.Context) error {
	err := s.forget(ctx, "compact", func(w *writer) {
		w.exec(`
			INSERT INTO fresh (text, put)
			SELECT sha256, 0 FROM texts WHERE NOT EXISTS (SELECT 1 FROM refs WHERE text = sha256)
			ON CONFLICT DO NOTHING`)
		w.sweep()
	})
	if err != nil {
		return err
	}
	_, err = s.pool.Exec(ctx, "VACUUM (ANALYZE) texts, fresh, sessions, metadata, turns, events, refs, holds, facts")
	return fault(s.name, "compact", err)
}
