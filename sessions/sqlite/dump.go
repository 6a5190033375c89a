package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"io"

	"github.com/massgen/massgen/coordinator/kernel"
	"github.com/massgen/massgen/sessions"
)

// Export writes a session as JSONL, which Import reads. A turn that is running
// meanwhile is in it as far as it has come.
func (s *Store) Export(ctx context.Context, id string, w io.Writer) error {
	d, err := s.dump(ctx, id)
	if err != nil {
		return err
	}
	return d.Write(w)
}

// dump reads a session as it is at one moment.
func (s *Store) dump(ctx context.Context, id string) (d *sessions.Dump, err error) {
	tx, err := s.read.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return nil, fault(s.path, "export session "+id, err)
	}
	defer func() { err = errors.Join(err, fault(s.path, "export session "+id, tx.Rollback())) }()
	d = &sessions.Dump{Texts: map[kernel.Ref][]byte{}}
	if d.Session, err = s.session(ctx, tx, id); err != nil {
		return nil, err
	}
	if d.Turns, err = s.turns(ctx, tx, id, 0); err != nil {
		return nil, err
	}
	for _, t := range d.Turns {
		events, err := s.journal(ctx, tx, id, t.Number)
		if err != nil {
			return nil, err
		}
		d.Journals = append(d.Journals, events)
	}
	texts, err := rowsIn(ctx, tx, s.path, "export session "+id, scanBytes, `
		SELECT data FROM texts WHERE id IN (
			SELECT text FROM refs JOIN turns ON turns.id = refs.turn JOIN sessions ON sessions.id = turns.session WHERE name = ?)`, id)
	for _, data := range texts {
		d.Texts[sessions.RefOf(data)] = data
	}
	return d, err
}

// Import takes in a session that Export wrote, under its own id or, if as is not
// empty, under that one. It takes all of it, or nothing and says why; a session
// whose id is taken is refused.
func (s *Store) Import(ctx context.Context, r io.Reader, as string) (sessions.Session, error) {
	d, err := sessions.ReadDumpAs(r, as)
	if err != nil {
		return sessions.Session{}, err
	}
	id := d.Session.ID
	err = s.alone(ctx, id, func() error {
		return s.change(ctx, "import session "+id, func(w *writer) { w.load(d) })
	})
	if err != nil {
		return sessions.Session{}, err
	}
	return s.Session(ctx, id)
}

// load adds a session that was checked.
func (w *writer) load(d *sessions.Dump) {
	if w.id("SELECT id FROM sessions WHERE name = ?", d.Session.ID) != 0 {
		w.refuse(sessions.Exists(d.Session.ID))
	}
	session := w.newSession(d.Session)
	for i, t := range d.Turns {
		if w.err != nil {
			return
		}
		row := rows{session, w.newTurn(session, t)}
		put := func(ref kernel.Ref) []byte { return d.Texts[ref] }
		if t.Link != (kernel.Ref{}) {
			w.link(row, t, put(t.Messages), put)
		}
		for _, ref := range distinct(d.Names(i)) {
			w.text(row.turn, ref, put(ref))
		}
		for _, event := range d.Journals[i] {
			w.exec("INSERT INTO events (turn, data) VALUES (?, ?)", row.turn, event)
		}
		w.endTurn(row.turn, t)
		own := t
		if t.Number <= d.Session.ParentTurn {
			own.Usage = sessions.Usage{}
		}
		w.addUp(session, own)
	}
	w.exec("UPDATE sessions SET turns = ? WHERE id = ?", len(d.Turns), session)
}
