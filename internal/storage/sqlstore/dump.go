package sqlstore

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"slices"

	"github.com/massgen/massgen/internal/coordination/kernel"
	"github.com/massgen/massgen/internal/system/blob"
	"github.com/massgen/massgen/sessions"
)

// Dump implements sessions.Backing.
func (s *Store) Dump(ctx context.Context, id string) (d *sessions.Dump, err error) {
	err = s.db.Patiently(ctx, func() (err error) {
		d, err = s.db.dump(ctx, id)
		return err
	})
	if err == nil && d == nil {
		return nil, sessions.NoSession(id)
	}
	return d, s.db.Fault("export session "+id, err)
}

// dump reads a session as it is at one moment, nil if it does not exist.
func (d *DB) dump(ctx context.Context, id string) (dump *sessions.Dump, err error) {
	tx, err := d.Read.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, tx.Rollback()) }()
	query := func(ctx context.Context, statement string, args ...any) (*sql.Rows, error) {
		return tx.QueryContext(ctx, d.translate(statement), args...)
	}
	list, err := Collect(ctx, query, scanSession, selectSessions+" WHERE name = $1", id)
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

// Copy implements sessions.Backing. A branch of more than one batch appears with its last batch.
func (s *Store) Copy(ctx context.Context, what, from string, turn int, to string, next func(sessions.Session, kernel.Status) (sessions.Session, error)) error {
	ends, err := s.ends(ctx, from, mostLoad)
	if err != nil {
		return err
	}
	c := copying{from: from, to: to, next: next, turn: turn}
	at := slices.IndexFunc(ends, func(end int) bool { return end >= turn })
	ends = ends[:max(at, 0)] // the last batch ends with the turn
	if len(ends) > 0 {
		if err := s.DropLost(ctx); err != nil {
			return err
		}
		c.hidden = hiddenName()
	}
	done := 0
	for _, end := range ends {
		change := s.db.Change
		if done == 0 { // while it is free: the rest would be in vain
			change = func(ctx context.Context, what string, do func(*Tx)) error { return s.holds.Alone(ctx, what, to, false, do) }
		}
		if err = change(ctx, what, func(w *Tx) { c.copyTo(w, done, end) }); err != nil {
			break
		}
		done = end
	}
	if err == nil {
		err = s.holds.Alone(ctx, what, to, false, func(w *Tx) { c.copyTo(w, done, turn) })
	}
	if err != nil && done > 0 {
		err = errors.Join(err, s.drop(context.WithoutCancel(ctx), c.hidden))
	}
	return err
}

// copying is a branch that is being made. Without a hidden session it is made in one transaction.
type copying struct {
	from, to, hidden string
	next             func(sessions.Session, kernel.Status) (sessions.Session, error)
	turn             int // the last turn of the branch
}

// copyTo copies the turns after one turn up to another. With the last turn of the branch, the branch
// appears.
func (c copying) copyTo(w *Tx, done, end int) {
	parent := w.session(c.from) // it stays until the transaction's end
	w.mustBeNew(c.to)
	var status kernel.Status
	w.Row("SELECT status FROM turns WHERE session = $1 AND number = $2", []any{parent, c.turn}, &status)
	list := List(w, scanSession, selectSessions+" WHERE name = $1", c.from)
	if w.err != nil || len(list) == 0 {
		return
	}
	made, err := c.next(list[0], status)
	w.Refuse(err)
	if w.err != nil {
		return
	}
	var branch int64
	switch {
	case c.hidden == "":
		branch = w.newSession(made)
	case done == 0:
		branch = w.newSession(sessions.Session{ID: c.hidden, Created: w.At, Updated: w.At})
	default:
		branch = w.session(c.hidden)
	}
	w.copyTurns(parent, done, end, branch)
	if end < c.turn {
		w.Exec("UPDATE sessions SET updated = $2 WHERE id = $1", branch, w.db.Time(w.At))
		return
	}
	if c.hidden != "" {
		w.show(c.hidden, made)
	}
	w.Exec(`
		UPDATE sessions SET turns = $2,
			head = (SELECT link FROM turns WHERE session = $1 AND link IS NOT NULL ORDER BY number DESC LIMIT 1),
			messages = (SELECT sum(messages) FROM turns WHERE session = $1)
		WHERE id = $1`, branch, c.turn)
}

// copyTurns copies a session's turns after one turn, up to another, to another session that has none of
// them yet.
func (w *Tx) copyTurns(parent int64, done, end int, branch int64) {
	w.Exec(`
		INSERT INTO turns (session, number, question, answer, list, link, winner, status, started, ended, messages,
			calls, input_tokens, output_tokens, cached_tokens, reasoning_tokens, unknown_calls, cost_usd{words})
		SELECT CAST($1 AS bigint), number, question, answer, list, link, winner, status, started, ended, messages,
			calls, input_tokens, output_tokens, cached_tokens, reasoning_tokens, unknown_calls, cost_usd{words}
		FROM turns WHERE session = $2 AND number > $3 AND number <= $4 ORDER BY number`, branch, parent, done, end)
	const those = "session = $1 AND number > $2"
	w.Exec(`
		INSERT INTO refs (turn, text)
		SELECT id, question FROM turns WHERE `+those+`
		UNION SELECT id, answer FROM turns WHERE `+those+` AND answer IS NOT NULL
		UNION SELECT id, list FROM turns WHERE `+those+` AND list IS NOT NULL
		UNION SELECT id, link FROM turns WHERE `+those+` AND link IS NOT NULL`, branch, done)
	w.nameLists(branch, done)
	w.namePages(branch, done)
}

// namePages keeps, for each turn of a session after one turn, the page that its link names.
func (w *Tx) namePages(session int64, after int) {
	type paged struct {
		turn int64
		link sessions.Link
	}
	links := List(w, func(rows *sql.Rows) (p paged, err error) {
		var data []byte
		if err = rows.Scan(&p.turn, &data); err == nil {
			err = json.Unmarshal(data, &p.link)
		}
		return p, err
	}, "SELECT turns.id, data FROM turns JOIN texts ON texts.{key} = link WHERE session = $1 AND number > $2", session, after)
	for _, p := range links {
		if p.link.Page != (blob.Ref{}) {
			w.name(p.turn, []blob.Ref{p.link.Page})
		}
	}
}

// nameLists keeps, for each turn of a session after one turn, the stored texts that its list of messages
// names.
func (w *Tx) nameLists(session int64, after int) {
	type list struct {
		turn int64
		refs []blob.Ref
	}
	lists := List(w, func(rows *sql.Rows) (l list, err error) {
		var data []byte
		err = rows.Scan(&l.turn, &data)
		l.refs = distinct(sessions.Refs(data))
		return l, err
	}, "SELECT turns.id, data FROM turns JOIN texts ON texts.{key} = list WHERE session = $1 AND number > $2", session, after)
	var all []blob.Ref
	for _, l := range lists {
		all = append(all, l.refs...)
	}
	if all = distinct(all); len(all) == 0 {
		return
	}
	w.supply(all)
	type known struct {
		n   int
		key any
	}
	keys := make(map[blob.Ref]any, len(all))
	for _, k := range List(w, func(rows *sql.Rows) (k known, err error) {
		err = rows.Scan(&k.n, &k.key)
		return k, err
	}, "SELECT n, texts.{key} FROM {named} JOIN texts ON sha256 = sum AND length(data) = bytes", w.list(all)) {
		keys[all[k.n]] = k.key
	}
	var rows [][]any
	for _, l := range lists {
		for _, ref := range l.refs {
			if key, isThere := keys[ref]; isThere {
				rows = append(rows, []any{l.turn, key})
			}
		}
	}
	w.insert("INSERT INTO refs (turn, text) VALUES ", "($, $)", " ON CONFLICT DO NOTHING", rows)
}
