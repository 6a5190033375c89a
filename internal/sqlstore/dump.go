package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"io"

	"github.com/massgen/massgen/internal/blob"
	"github.com/massgen/massgen/sessions"
)

// Export writes a session as JSONL, which Import reads. A turn that is running meanwhile is
// in it as far as it has come.
func (s *Store) Export(ctx context.Context, id string, w io.Writer) error {
	var d *sessions.Dump
	err := s.db.Patiently(ctx, func() (err error) {
		d, err = s.db.dump(ctx, id)
		return err
	})
	switch {
	case err != nil:
		return s.db.Fault("export session "+id, err)
	case d == nil:
		return sessions.NoSession(id)
	}
	return d.Write(w)
}

// dump reads a session as it is at one moment, nil if it is not there.
func (d *DB) dump(ctx context.Context, id string) (dump *sessions.Dump, err error) {
	tx, err := d.Read.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, tx.Rollback()) }()
	query := func(ctx context.Context, statement string, args ...any) (*sql.Rows, error) {
		return tx.QueryContext(ctx, d.translate(statement), args...)
	}
	list, err := Collect(ctx, query, scanSession, selectSession, id)
	if err != nil || len(list) == 0 {
		return nil, err
	}
	dump = &sessions.Dump{Session: list[0], Texts: map[blob.Ref][]byte{}}
	if dump.Turns, err = Collect(ctx, query, scanTurn, selectTurns+" ORDER BY number", id); err != nil {
		return nil, err
	}
	for _, t := range dump.Turns {
		events, err := Collect(ctx, query, Scan[[]byte], selectEvents, id, t.Number, 0)
		if err != nil {
			return nil, err
		}
		dump.Journals = append(dump.Journals, events)
	}
	texts, err := Collect(ctx, query, Scan[[]byte], `
		SELECT data FROM texts WHERE {key} IN (
			SELECT text FROM refs JOIN turns ON turns.id = refs.turn JOIN sessions ON sessions.id = turns.session WHERE name = $1)`, id)
	for _, data := range texts {
		dump.Texts[sessions.RefOf(data)] = data
	}
	return dump, err
}

// Import takes in a session that Export wrote, under its own id or, if as is not empty,
// under that one. It takes all of it, or nothing and says why; a session whose id is taken
// is refused.
func (s *Store) Import(ctx context.Context, r io.Reader, as string) (sessions.Session, error) {
	d, err := sessions.ReadDumpAs(r, as)
	if err != nil {
		return sessions.Session{}, err
	}
	return s.create(ctx, "import session "+d.Session.ID, d.Session.ID, func(w *Tx) { w.load(d) })
}

// load adds a session that was checked.
func (w *Tx) load(d *sessions.Dump) {
	w.mustBeNew(d.Session.ID)
	session := w.newSession(d.Session)
	var texts []text
	for ref, data := range d.Texts {
		texts = append(texts, text{ref, data})
	}
	w.put(texts...)
	all := sums{messages: d.Session.Messages, usage: d.Session.Usage}
	turns := make([][]any, len(d.Turns))
	for i, t := range d.Turns {
		turns[i] = w.db.turnArgs(session, t)
		if t.Link != (blob.Ref{}) {
			all.head = t.Link
		}
	}
	w.insert(insertTurn, turnRow, "", turns)
	w.Exec("UPDATE sessions SET turns = $2 WHERE id = $1", session, len(d.Turns))
	w.addUp(session, all)
	ids := List(w, Scan[int64], "SELECT id FROM turns WHERE session = $1 ORDER BY number", session)
	var events, refs [][]any
	var words []Indexed
	for i, turn := range ids {
		for place, event := range d.Journals[i] {
			events = append(events, []any{turn, place, event})
		}
		for _, ref := range distinct(d.Names(i)) {
			refs = append(refs, []any{turn, SumOf(ref)})
		}
		if t := d.Turns[i]; t.Status != sessions.Running {
			words = append(words, Indexed{turn, []string{t.Question, t.Answer}})
		}
	}
	w.insert("INSERT INTO events (turn, place, data) VALUES ", "($, $, $)", "", events)
	w.insert("INSERT INTO refs (turn, text) VALUES ", "($, "+keyOf+")", "", refs)
	w.index("turns", words...)
}
