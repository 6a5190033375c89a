package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/massgen/massgen/coordinator/kernel"
	"github.com/massgen/massgen/sessions"
)

// SetTitle gives a session another title.
func (s *Store) SetTitle(ctx context.Context, id, title string) error {
	if err := sessions.CheckTitle(title); err != nil {
		return err
	}
	return s.change(ctx, "change session "+id, func(w *writer) {
		if w.exec("UPDATE sessions SET title = ? WHERE name = ?", title, id) == 0 {
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
		if session := w.session(id); session != 0 {
			w.setMetadata(session, metadata)
		}
	})
}

// session returns the id of a session that must be there.
func (w *writer) session(name string) int64 {
	id := w.id("SELECT id FROM sessions WHERE name = ?", name)
	if id == 0 {
		w.refuse(sessions.NoSession(name))
	}
	return id
}

func (w *writer) setMetadata(session int64, metadata map[string]string) {
	for key, value := range metadata {
		if value == "" {
			w.exec("DELETE FROM metadata WHERE session = ? AND key = ?", session, key)
			continue
		}
		w.exec("INSERT OR REPLACE INTO metadata (session, key, value) VALUES (?, ?, ?)", session, key, value)
	}
}

// metadataOf reads metadata as queries return it.
func metadataOf(data string) (map[string]string, error) {
	var metadata map[string]string
	if err := json.Unmarshal([]byte(data), &metadata); err != nil {
		return nil, fmt.Errorf("metadata: %w", err)
	}
	if len(metadata) == 0 {
		return nil, nil
	}
	return metadata, nil
}

// alone runs do while no turn of a session runs, here or in another process.
func (s *Store) alone(ctx context.Context, id string, do func() error) error {
	lock, err := s.hold(ctx, id)
	if err != nil {
		return err
	}
	return errors.Join(do(), fault(s.path, "unlock session "+id, lock.release()))
}

// Branch makes a new session, to, that goes on after a turn of another as if the
// later ones had not been. It has its turns, but not their journals, and its
// usage begins at nothing.
func (s *Store) Branch(ctx context.Context, from string, turn int, to string) (sessions.Session, error) {
	err := s.alone(ctx, to, func() error {
		return s.change(ctx, "branch session "+from, func(w *writer) { w.branch(from, turn, to) })
	})
	if err != nil {
		return sessions.Session{}, err
	}
	return s.Session(ctx, to)
}

func (w *writer) branch(from string, turn int, to string) {
	parent := w.session(from)
	switch {
	case w.err != nil:
		return
	case w.id("SELECT id FROM sessions WHERE name = ?", to) != 0:
		w.refuse(sessions.Exists(to))
	case w.id("SELECT id FROM turns WHERE session = ? AND number = ? AND status <> 'running'", parent, turn) == 0:
		w.refuse(sessions.NoSuchTurn(from, turn))
	}
	now := time.Now()
	branch := w.newSession(sessions.Session{ID: to, Parent: from, ParentTurn: turn, Created: now, Updated: now})
	w.exec(`UPDATE sessions SET title = parent.title FROM sessions AS parent WHERE parent.id = ? AND sessions.id = ?`, parent, branch)
	w.exec("INSERT INTO metadata (session, key, value) SELECT ?, key, value FROM metadata WHERE session = ?", branch, parent)
	w.exec(`
		INSERT INTO turns (session, number, question, answer, list, link, winner, status, started, ended, messages,
			calls, input_tokens, output_tokens, cached_tokens, unknown_calls, cost_usd)
		SELECT ?, number, question, answer, list, link, winner, status, started, ended, messages,
			calls, input_tokens, output_tokens, cached_tokens, unknown_calls, cost_usd
		FROM turns WHERE session = ? AND number <= ?`, branch, parent, turn)
	w.exec(`
		INSERT INTO refs (turn, text)
		SELECT id, question FROM turns WHERE session = :branch
		UNION SELECT id, answer FROM turns WHERE session = :branch AND answer IS NOT NULL
		UNION SELECT id, list FROM turns WHERE session = :branch AND list IS NOT NULL
		UNION SELECT id, link FROM turns WHERE session = :branch AND link IS NOT NULL`, sql.Named("branch", branch))
	w.nameLists(branch)
	w.exec(`
		UPDATE sessions SET turns = :turn,
			head = (SELECT link FROM turns WHERE session = :branch AND link IS NOT NULL ORDER BY number DESC LIMIT 1),
			messages = (SELECT sum(messages) FROM turns WHERE session = :branch)
		WHERE id = :branch`, sql.Named("turn", turn), sql.Named("branch", branch))
}

// nameLists keeps the texts that the lists of messages of a session name.
func (w *writer) nameLists(session int64) {
	type list struct {
		turn int64
		ref  storedRef
	}
	if w.err != nil {
		return
	}
	lists, err := rowsIn(w.ctx, w.tx, w.path, w.what, func(rows *sql.Rows) (l list, err error) {
		err = rows.Scan(&l.turn, &l.ref.sum, &l.ref.bytes)
		return l, err
	}, "SELECT turns.id, sha256, length(data) FROM turns JOIN texts ON texts.id = list WHERE session = ?", session)
	w.refuse(err)
	for _, l := range lists {
		w.nameMessages(l.turn, l.ref.ref(), func(kernel.Ref) []byte { return nil })
	}
}

// Delete forgets a session, with the texts that no other needs: their bytes are
// overwritten. Branches of it stay whole. While a turn runs on the session, here
// or in another process, it returns ErrBusy.
func (s *Store) Delete(ctx context.Context, id string) error {
	err := s.alone(ctx, id, func() error {
		return s.change(ctx, "delete session "+id, func(w *writer) { w.delete(id) })
	})
	if err != nil {
		return err
	}
	return s.emptyLog(ctx)
}

func (w *writer) delete(name string) {
	session := w.session(name)
	if w.err != nil {
		return
	}
	var texts string
	w.row("SELECT json_group_array(DISTINCT text) FROM refs WHERE turn IN (SELECT id FROM turns WHERE session = ?)", []any{session}, &texts)
	w.exec("DELETE FROM events WHERE turn IN (SELECT id FROM turns WHERE session = ?)", session)
	w.exec("DELETE FROM refs WHERE turn IN (SELECT id FROM turns WHERE session = ?)", session)
	w.exec("DELETE FROM turns WHERE session = ?", session)
	w.exec("DELETE FROM metadata WHERE session = ?", session)
	w.exec("DELETE FROM sessions WHERE id = ?", session)
	w.exec("DELETE FROM texts WHERE id IN (SELECT value FROM json_each(?)) AND NOT EXISTS (SELECT 1 FROM refs WHERE text = texts.id)", texts)
}

// Reset forgets a session, if there is one: its next turn is the first again.
func (s *Store) Reset(ctx context.Context, id string) error {
	if err := s.Delete(ctx, id); !errors.Is(err, sessions.ErrNoSession) {
		return err
	}
	return nil
}

// emptyLog moves what SQLite's log holds to the file, as far as nobody is reading
// it, so that no copy of what was deleted stays there.
func (s *Store) emptyLog(ctx context.Context) error {
	_, err := s.write.ExecContext(ctx, "PRAGMA wal_checkpoint(TRUNCATE)")
	return fault(s.path, "empty the log", err)
}

// Compact makes the file as small as it can be, and the search indexes anew.
// Other writes wait meanwhile.
func (s *Store) Compact(ctx context.Context) error {
	err := s.change(ctx, "compact", func(w *writer) {
		w.exec("DELETE FROM texts WHERE NOT EXISTS (SELECT 1 FROM refs WHERE text = texts.id)")
		for _, index := range searchIndexes() {
			w.exec(fmt.Sprintf("INSERT INTO %s (%s) VALUES ('rebuild')", index, index))
		}
	})
	if err != nil {
		return err
	}
	err = s.patiently(ctx, func() error {
		_, err := s.write.ExecContext(ctx, "VACUUM")
		return err
	})
	return cmp.Or(fault(s.path, "compact", err), s.emptyLog(ctx))
}

func searchIndexes() []string { return []string{"turn_search", "title_search", "fact_search"} }
