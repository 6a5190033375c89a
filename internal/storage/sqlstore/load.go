package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/massgen/massgen/internal/system/blob"
	"github.com/massgen/massgen/sessions"
)

// The limits of one batch, in turns, rows and bytes. Other writers wait for one batch at most. Words are
// deleted from the index of a search far more slowly than they are added.
const (
	mostTurns   = 100
	mostRows    = 1000
	mostLoad    = 512 << 10
	mostDropped = 64 << 10
)

// A session that is being imported, branched or deleted in batches is hidden: its row has 0 turns and a name
// that no session can have, and nobody sees it. If its process dies, a later operation of this kind, or
// Compact, deletes it.
const (
	hiddenDies = 10 * time.Minute // after its last batch
	isShown    = "sessions.turns > 0"
)

func hiddenName() string { return "\x1f" + sessions.NewID() }

// firstOfNames is how many of a turn's texts its row may name: these come first.
const firstOfNames = 5

// Load implements sessions.Backing. A session of more than one batch appears with its last batch.
func (s *Store) Load(ctx context.Context, what string, d *sessions.Dump) error {
	batches := batchesOf(d)
	if len(batches) == 1 {
		return s.holds.Alone(ctx, what, d.Session.ID, false, func(w *Tx) {
			w.mustBeNew(d.Session.ID)
			w.load(d, w.newSession(d.Session), batches[0])
			w.addLoaded(d)
		})
	}
	if err := s.DropLost(ctx); err != nil {
		return err
	}
	hidden := sessions.Session{ID: hiddenName(), Created: time.Now()}
	err := s.loadHidden(ctx, what, d, hidden, batches[:len(batches)-1])
	if err == nil {
		err = s.holds.Alone(ctx, what, d.Session.ID, false, func(w *Tx) {
			w.mustBeNew(d.Session.ID)
			w.load(d, w.session(hidden.ID), batches[len(batches)-1])
			w.show(hidden.ID, d.Session)
			w.addLoaded(d)
		})
	}
	if err != nil {
		return errors.Join(err, s.drop(context.WithoutCancel(ctx), hidden.ID))
	}
	return nil
}

// loadHidden adds the first batches of a session under its hidden name.
func (s *Store) loadHidden(ctx context.Context, what string, d *sessions.Dump, hidden sessions.Session, batches [][]piece) error {
	for i, batch := range batches {
		change := s.db.Change
		if i == 0 { // while its id is free: the rest would be in vain
			change = func(ctx context.Context, what string, do func(*Tx)) error {
				return s.holds.Alone(ctx, what, d.Session.ID, false, do)
			}
		}
		err := change(ctx, what, func(w *Tx) {
			w.mustBeNew(d.Session.ID)
			if i == 0 {
				hidden.Updated = w.At
				w.newSession(hidden)
			}
			session := w.session(hidden.ID)
			w.load(d, session, batch)
			w.Exec("UPDATE sessions SET updated = $2 WHERE id = $1", session, w.db.Time(w.At))
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// piece is a part of a turn that an import adds in one transaction.
type piece struct {
	turn int // from 0
	// isFirst reports whether the piece adds the turn's row.
	isFirst bool
	// names are texts that the turn names, and texts are those of them that no piece before has added.
	names, texts []blob.Ref
	// from and to are the places of the piece's events.
	from, to int
}

// batchesOf divides a session into the transactions of an import. There is at least one.
func batchesOf(d *sessions.Dump) (batches [][]piece) {
	known := make(map[blob.Ref]bool, len(d.Texts))
	var batch []piece
	turns, rows, size := 0, 0, 0
	// room makes room for a row of a turn, and returns the piece that the row belongs to.
	room := func(turn, bytes int) *piece {
		if last := len(batch) - 1; last >= 0 && batch[last].turn == turn && rows < mostRows && size+bytes <= mostLoad {
			rows, size = rows+1, size+bytes
			return &batch[last]
		}
		if turns == mostTurns || rows >= mostRows || len(batch) > 0 && size+bytes > mostLoad {
			batches = append(batches, batch)
			batch, turns, rows, size = nil, 0, 0, 0
		}
		turns, rows, size = turns+1, rows+1, size+bytes
		batch = append(batch, piece{turn: turn})
		return &batch[len(batch)-1]
	}
	for i := range d.Turns {
		names := distinct(d.Names(i))
		first := names[:min(firstOfNames, len(names))]
		needed := 0
		for _, ref := range first {
			if !known[ref] {
				needed += ref.Bytes
			}
		}
		p := room(i, needed)
		p.isFirst = true
		add := func(p *piece, ref blob.Ref) {
			if p.names = append(p.names, ref); !known[ref] {
				p.texts = append(p.texts, ref)
			}
			known[ref] = true
		}
		for _, ref := range first {
			add(p, ref)
		}
		for _, ref := range names[len(first):] {
			needed := ref.Bytes
			if known[ref] {
				needed = 0
			}
			add(room(i, needed), ref)
		}
		for place, event := range d.Journals[i] {
			p := room(i, len(event))
			if p.to == 0 {
				p.from = place
			}
			p.to = place + 1
		}
	}
	return append(batches, batch)
}

// load adds the pieces of a session that was checked.
func (w *Tx) load(d *sessions.Dump, session int64, batch []piece) {
	var texts []text
	var turns [][]any
	for _, p := range batch {
		for _, ref := range p.texts {
			texts = append(texts, text{ref, d.Texts[ref]})
		}
		if p.isFirst {
			turns = append(turns, w.db.turnArgs(session, d.Turns[p.turn]))
		}
	}
	w.put(texts...)
	w.insert(insertTurn, turnRow, "", turns)
	first, last := batch[0].turn, batch[len(batch)-1].turn
	ids := List(w, Scan[int64], "SELECT id FROM turns WHERE session = $1 AND number > $2 AND number <= $3 ORDER BY number", session, first, last+1)
	if w.err != nil {
		return
	}
	var events, refs [][]any
	var words []Indexed
	for _, p := range batch {
		turn := ids[p.turn-first]
		for place, event := range d.Journals[p.turn][p.from:p.to] {
			events = append(events, []any{turn, p.from + place, event})
		}
		for _, ref := range p.names {
			refs = append(refs, []any{turn, SumOf(ref)})
		}
		if t := d.Turns[p.turn]; p.isFirst && t.Status != sessions.Running {
			words = append(words, Indexed{turn, []string{t.Question, t.Answer}})
		}
	}
	w.insert("INSERT INTO events (turn, place, data) VALUES ", "($, $, $)", "", events)
	w.insert("INSERT INTO refs (turn, text) VALUES ", "($, "+keyOf+")", "", refs)
	w.index("turns", words...)
}

// addLoaded adds the sums of an imported session.
func (w *Tx) addLoaded(d *sessions.Dump) {
	all := sums{messages: d.Session.Messages, usage: d.Session.Usage}
	for _, t := range d.Turns {
		if t.Link != (blob.Ref{}) {
			all.head = t.Link
		}
	}
	w.addUp(w.session(d.Session.ID), all)
}

// show gives a hidden session its name, with which it appears.
func (w *Tx) show(hidden string, n sessions.Session) {
	session := w.session(hidden)
	w.Exec(`
		UPDATE sessions SET name = $2, title = $3, parent = $4, parent_turn = $5, created = $6, updated = $7, turns = $8
		WHERE id = $1`, session, n.ID, n.Title, n.Parent, n.ParentTurn, w.db.Time(n.Created), w.db.Time(n.Updated), n.Turns)
	if n.Title != "" {
		w.index("sessions", Indexed{session, []string{n.Title}})
	}
	w.setMetadata(session, n.Metadata)
}

// DropLost deletes what processes have left that died while they imported, branched or deleted a session.
func (s *Store) DropLost(ctx context.Context) error {
	type hidden struct {
		name    string
		updated stamp
	}
	list, err := Rows(ctx, s.db, "look for lost imports", func(rows *sql.Rows) (h hidden, err error) {
		err = rows.Scan(&h.name, &h.updated)
		return h, err
	}, "SELECT name, updated FROM sessions WHERE turns = 0")
	for _, h := range list {
		if err == nil && time.Since(h.updated.Time) > hiddenDies {
			err = s.drop(ctx, h.name)
		}
	}
	return err
}

// drop deletes a hidden session in batches.
func (s *Store) drop(ctx context.Context, name string) error {
	const what = "delete a session's turns"
	ends, err := s.ends(ctx, name, mostDropped)
	if err != nil {
		return err
	}
	for _, end := range ends {
		err := s.db.Forget(ctx, what, func(w *Tx) {
			const some = "(SELECT id FROM turns WHERE session = $1 AND number <= $2)"
			session := w.ID("SELECT id FROM sessions WHERE name = $1", name)
			forget := w.db.Orphan(w, session)
			w.Exec("DELETE FROM events WHERE turn IN "+some, session, end)
			w.Exec("DELETE FROM refs WHERE turn IN "+some, session, end)
			w.Exec("DELETE FROM turns WHERE session = $1 AND number <= $2", session, end)
			forget()
			w.Exec("UPDATE sessions SET updated = $2 WHERE id = $1", session, w.db.Time(w.At))
		})
		if err != nil {
			return err
		}
	}
	return s.holds.Alone(ctx, what, name, true, func(w *Tx) {
		if w.ID("SELECT id FROM sessions WHERE name = $1", name) != 0 {
			w.delete(name)
		}
	})
}

// ends returns the last turns of the batches in which a session is copied or deleted, each of at most
// mostTurns turns with so many bytes.
func (s *Store) ends(ctx context.Context, name string, mostBytes int) (ends []int, err error) {
	type turn struct{ number, bytes int }
	list, err := Rows(ctx, s.db, "read session "+name, func(rows *sql.Rows) (t turn, err error) {
		err = rows.Scan(&t.number, &t.bytes)
		return t, err
	}, `
		SELECT number, length(question.data) + coalesce(length(answer.data), 0) FROM sessions
		JOIN turns ON turns.session = sessions.id
		JOIN texts AS question ON question.{key} = turns.question
		LEFT JOIN texts AS answer ON answer.{key} = turns.answer
		WHERE name = $1 ORDER BY number`, name)
	turns, size := 0, 0
	for _, t := range list {
		if turns == mostTurns || turns > 0 && size+t.bytes > mostBytes {
			turns, size = 0, 0
		}
		if turns == 0 {
			ends = append(ends, 0)
		}
		ends[len(ends)-1] = t.number
		turns, size = turns+1, size+t.bytes
	}
	return ends, err
}

// hide gives a session a hidden name, with which it disappears.
func (w *Tx) hide(name, hidden string) {
	session := w.session(name)
	w.Exec("DELETE FROM metadata WHERE session = $1", session)
	w.Exec("UPDATE sessions SET name = $2, title = '', turns = 0, updated = $3 WHERE id = $1", session, hidden, w.db.Time(w.At))
	w.index("sessions", Indexed{session, []string{""}})
}
