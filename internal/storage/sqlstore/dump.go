package sqlstore

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"

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

// Load implements sessions.Backing.
func (s *Store) Load(ctx context.Context, what string, d *sessions.Dump) error {
	return s.holds.Alone(ctx, what, d.Session.ID, false, func(w *Tx) { w.load(d) })
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

// Copy implements sessions.Backing.
func (s *Store) Copy(ctx context.Context, what, from string, turn int, to string, next func(sessions.Session, kernel.Status) (sessions.Session, error)) error {
	return s.holds.Alone(ctx, what, to, false, func(w *Tx) {
		parent := w.session(from) // it stays until the transaction's end
		w.mustBeNew(to)
		var status kernel.Status
		w.Row("SELECT status FROM turns WHERE session = $1 AND number = $2", []any{parent, turn}, &status)
		list := List(w, scanSession, selectSessions+" WHERE name = $1", from)
		if w.err != nil || len(list) == 0 {
			return
		}
		made, err := next(list[0], status)
		w.Refuse(err)
		if w.err == nil {
			w.copyTurns(parent, turn, w.newSession(made))
		}
	})
}

// copyTurns copies a session's turns, up to one, to another session that has none yet.
func (w *Tx) copyTurns(parent int64, turn int, branch int64) {
	w.Exec(`
		INSERT INTO turns (session, number, question, answer, list, link, winner, status, started, ended, messages,
			calls, input_tokens, output_tokens, cached_tokens, reasoning_tokens, unknown_calls, cost_usd{words})
		SELECT CAST($1 AS bigint), number, question, answer, list, link, winner, status, started, ended, messages,
			calls, input_tokens, output_tokens, cached_tokens, reasoning_tokens, unknown_calls, cost_usd{words}
		FROM turns WHERE session = $2 AND number <= $3 ORDER BY number`, branch, parent, turn)
	w.Exec(`
		INSERT INTO refs (turn, text)
		SELECT id, question FROM turns WHERE session = $1
		UNION SELECT id, answer FROM turns WHERE session = $1 AND answer IS NOT NULL
		UNION SELECT id, list FROM turns WHERE session = $1 AND list IS NOT NULL
		UNION SELECT id, link FROM turns WHERE session = $1 AND link IS NOT NULL`, branch)
	w.nameLists(branch)
	w.namePages(branch)
	w.Exec(`
		UPDATE sessions SET turns = $2,
			head = (SELECT link FROM turns WHERE session = $1 AND link IS NOT NULL ORDER BY number DESC LIMIT 1),
			messages = (SELECT sum(messages) FROM turns WHERE session = $1)
		WHERE id = $1`, branch, turn)
}

// namePages keeps, for each turn of a session, the page that its link names.
func (w *Tx) namePages(session int64) {
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
	}, "SELECT turns.id, data FROM turns JOIN texts ON texts.{key} = link WHERE session = $1", session)
	for _, p := range links {
		if p.link.Page != (blob.Ref{}) {
			w.name(p.turn, []blob.Ref{p.link.Page})
		}
	}
}

// nameLists keeps, for each turn of a session, the stored texts that its list of messages
// names.
func (w *Tx) nameLists(session int64) {
	type list struct {
		turn int64
		refs []blob.Ref
	}
	lists := List(w, func(rows *sql.Rows) (l list, err error) {
		var data []byte
		err = rows.Scan(&l.turn, &data)
		l.refs = distinct(sessions.Refs(data))
		return l, err
	}, "SELECT turns.id, data FROM turns JOIN texts ON texts.{key} = list WHERE session = $1", session)
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
