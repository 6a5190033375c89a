package postgres

import (
	"context"
	"errors"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/massgen/massgen/coordinator/kernel"
	"github.com/massgen/massgen/sessions"
)

// Export writes a session as JSONL, which Import reads. A turn that is running
// meanwhile is in it as far as it has come.
func (s *Store) Export(ctx context.Context, id string, w io.Writer) error {
	var d *sessions.Dump
	err := s.patiently(ctx, func() (err error) {
		// One moment of the store is read: other transactions do not show in this one.
		tx, err := s.pool.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly})
		if err != nil {
			return fault(s.name, "export session "+id, err)
		}
		defer func() { err = errors.Join(err, fault(s.name, "export session "+id, tx.Rollback(ctx))) }()
		d, err = s.dump(ctx, tx, id)
		return err
	})
	if err != nil {
		return err
	}
	return d.Write(w)
}

func (s *Store) dump(ctx context.Context, tx pgx.Tx, id string) (d *sessions.Dump, err error) {
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
	texts, err := rowsIn(ctx, tx, s.name, "export session "+id, pgx.RowTo[[]byte], `
		SELECT data FROM texts WHERE sha256 IN (
			SELECT text FROM refs JOIN turns ON turns.id = refs.turn JOIN sessions ON sessions.id = turns.session WHERE name = $1)`, id)
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
	if err := s.alone(ctx, id, "import session "+id, s.change, func(w *writer, _ time.Time) { w.load(d) }); err != nil {
		return sessions.Session{}, err
	}
	return s.Session(ctx, id)
}

// load adds a session that was checked.
func (w *writer) load(d *sessions.Dump) {
	if w.id("SELECT id FROM sessions WHERE name = $1", d.Session.ID) != 0 {
		w.refuse(sessions.Exists(d.Session.ID))
	}
	session := w.newSession(d.Session)
	w.put(slices.Collect(maps.Values(d.Texts))...)
	var head kernel.Ref
	inserts := &pgx.Batch{}
	for _, t := range d.Turns {
		inserts.Queue(insertTurn, turnArgs(session, t)...)
		if t.Link != (kernel.Ref{}) {
			head = t.Link
		}
	}
	w.exec("UPDATE sessions SET turns = $2, head = $3 WHERE id = $1", session, len(d.Turns), sumOrNull(head))
	w.addUp(session, d.Session.Messages, d.Session.Usage)
	var events, refs [][]any
	for i, turn := range w.ids(inserts) {
		for place, event := range d.Journals[i] {
			events = append(events, []any{turn, place, event})
		}
		named := map[kernel.Ref]bool{}
		for _, ref := range d.Names(i) {
			if !named[ref] {
				named[ref] = true
				refs = append(refs, []any{turn, sumOf(ref)})
			}
		}
	}
	w.copy("events", []string{"turn", "place", "data"}, events)
	w.copy("refs", []string{"turn", "text"}, refs)
}

// ids runs statements that return an id each.
func (w *writer) ids(statements *pgx.Batch) (ids []int64) {
	if w.err != nil {
		return nil
	}
	results := w.tx.SendBatch(w.ctx, statements)
	for range statements.Len() {
		var id int64
		if w.err = results.QueryRow().Scan(&id); w.err != nil {
			break
		}
		ids = append(ids, id)
	}
	if err := results.Close(); w.err == nil {
		w.err = err
	}
	return ids
}

// copy adds rows to a table.
func (w *writer) copy(table string, columns []string, rows [][]any) {
	if w.err == nil {
		_, w.err = w.tx.CopyFrom(w.ctx, pgx.Identifier{table}, columns, pgx.CopyFromRows(rows))
	}
}
