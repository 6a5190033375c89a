package sqlstore

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/massgen/massgen/internal/blob"
	"github.com/massgen/massgen/internal/budget"
	"github.com/massgen/massgen/internal/kernel"
	"github.com/massgen/massgen/sessions"
)

// Begin holds a session, which begins to exist with the turn's first event, for a turn that
// asks question. On a session that is held, here or elsewhere, it returns ErrBusy.
func (s *Store) Begin(ctx context.Context, id, question string) (sessions.Begun, error) {
	if err := sessions.CheckQuestion(question); err != nil {
		return sessions.Begun{}, err
	}
	return s.take(ctx, id, func(last Last) (Running, error) {
		return Running{Number: last.Number + 1, Question: question}, nil
	})
}

// Resume holds a session for its last turn, which must be one that Interrupted names, so
// that its journal goes on where it stopped.
func (s *Store) Resume(ctx context.Context, id string) (sessions.Begun, error) {
	return s.take(ctx, id, func(last Last) (Running, error) {
		switch {
		case last.Number == 0:
			return Running{}, sessions.NoSession(id)
		case last.Status != sessions.Running:
			return Running{}, sessions.NothingInterrupted(id)
		}
		return Running{Number: last.Number, Question: last.Question, Session: last.Session, Turn: last.Turn}, nil
	})
}

func (s *Store) take(ctx context.Context, id string, next func(Last) (Running, error)) (sessions.Begun, error) {
	if err := sessions.CheckID(id); err != nil {
		return sessions.Begun{}, err
	}
	return s.holds.Take(ctx, id, next)
}

// LastTurn returns what a session's next turn needs to know of the one before it.
func (d *DB) LastTurn(ctx context.Context, id string) (Last, error) {
	list, err := Rows(ctx, d, "read session "+id, scanLast, lastTurn, id)
	return onlyLast(list), err
}

// LastTurn returns what a session's next turn needs to know of the one before it.
func (w *Tx) LastTurn(id string) Last { return onlyLast(List(w, scanLast, lastTurn, id)) }

const lastTurn = `
	SELECT sessions.id, turns.id, number, status, question.data, head.sha256, length(head.data)
	FROM sessions
	JOIN turns ON turns.session = sessions.id AND turns.number = sessions.turns
	JOIN texts AS question ON question.{key} = turns.question
	LEFT JOIN texts AS head ON head.{key} = sessions.head
	WHERE name = $1`

func scanLast(rows *sql.Rows) (last Last, err error) {
	var question []byte
	var head storedRef
	err = rows.Scan(&last.Session, &last.Turn, &last.Number, &last.Status, &question, &head.sum, &head.bytes)
	last.Question, last.History = string(question), head.ref()
	return last, err
}

func onlyLast(list []Last) (last Last) {
	if len(list) > 0 {
		last = list[0]
	}
	return last
}

// NoteCut records the usage of the interrupted turn that the running turn abandons. It
// counts from the running turn's first event on, and later calls change nothing.
func (s *Store) NoteCut(ctx context.Context, id string, turn int, u budget.Usage) error {
	return s.holds.Write(ctx, "note what a turn of session "+id+" has cost", id, turn, false, func(_ *Tx, r *Running) { r.Cut = u })
}

// Append adds events to the journal of a running turn, all or none. Every text that they name
// must have been put. When Append returns, they are committed.
func (s *Store) Append(ctx context.Context, id string, turn int, events ...[]byte) error {
	return s.append(ctx, id, turn, nil, events)
}

// AppendAt adds events as Append does, at a place in the journal, from 0. Those whose places
// are taken are left out: a caller that missed the reply can repeat the call. A gap before
// the place is an error.
func (s *Store) AppendAt(ctx context.Context, id string, turn, place int, events ...[]byte) error {
	return s.append(ctx, id, turn, &place, events)
}

// append adds events at the end, or at a place.
func (s *Store) append(ctx context.Context, id string, turn int, place *int, events [][]byte) error {
	refs, err := sessions.RefsOfEvents(id, turn, events)
	if err != nil {
		return err
	}
	err = s.holds.Write(ctx, "write the journal of session "+id, id, turn, false, func(w *Tx, r *Running) {
		w.keep(id, r)
		var end int
		w.Row("SELECT coalesce(max(place) + 1, 0) FROM events WHERE turn = $1", []any{r.Turn}, &end)
		at := end
		if place != nil {
			at = *place
		}
		if at < 0 || at > end {
			w.Refuse(fmt.Errorf("event %d of turn %d of session %s cannot be written: the journal has %d events, from 0", at, r.Number, id, end))
		}
		w.name(r.Turn, refs...)
		for i, event := range events[min(len(events), max(0, end-at)):] {
			w.Exec("INSERT INTO events (turn, place, data) VALUES ($1, $2, $3)", r.Turn, end+i, event)
		}
	})
	if err == nil {
		s.db.Texts.Named(refs)
	}
	return err
}

// keep begins to keep a running turn, if it is not kept yet.
func (w *Tx) keep(id string, r *Running) {
	if r.Turn != 0 || w.err != nil {
		return
	}
	if r.Session == 0 {
		r.Session = w.ID("SELECT id FROM sessions WHERE name = $1", id)
	}
	if r.Session == 0 {
		r.Session = w.newSession(sessions.Session{ID: id, Created: w.At, Updated: w.At, Metadata: sessions.ParseID(id)})
	}
	w.cut(r.Session, r.Number-1, r.Cut)
	w.Exec("UPDATE sessions SET turns = $2, updated = $3 WHERE id = $1", r.Session, r.Number, w.db.Time(w.At))
	question := w.Put([]byte(r.Question))
	r.Turn = w.ID(insertTurn+numbered(turnRow, 1)+" RETURNING id", w.db.turnArgs(r.Session, sessions.Turn{
		Number: r.Number, Question: r.Question, Status: sessions.Running, Started: w.At,
	})...)
	w.name(r.Turn, question)
}

// cut ends an interrupted turn that another one follows. From then on Search finds it.
func (w *Tx) cut(session int64, turn int, u budget.Usage) {
	var id int64
	var question []byte
	if !w.Row(`
		SELECT turns.id, data FROM turns JOIN texts ON texts.{key} = question
		WHERE session = $1 AND number = $2 AND status = 'running'`, []any{session, turn}, &id, &question) {
		return
	}
	w.Exec(`
		UPDATE turns SET status = $2, calls = $3, input_tokens = $4, output_tokens = $5, cached_tokens = $6, unknown_calls = $7, cost_usd = $8
		WHERE id = $1`, append([]any{id, kernel.Cut}, usageArgs(u)...)...)
	w.index("turns", Indexed{id, []string{string(question), ""}})
	w.addUp(session, sums{usage: u})
}

// index stores the words of a row's texts, unless triggers do.
func (w *Tx) index(table string, rows ...Indexed) {
	if w.db.Index != nil && len(rows) > 0 {
		w.db.Index(w, table, rows)
	}
}

// newSession adds a session that has no turns yet.
func (w *Tx) newSession(n sessions.Session) int64 {
	id := w.ID(`
		INSERT INTO sessions (name, title, parent, parent_turn, created, updated, turns, messages,
			calls, input_tokens, output_tokens, cached_tokens, unknown_calls, cost_usd)
		VALUES ($1, $2, $3, $4, $5, $6, 0, 0, 0, 0, 0, 0, 0, 0) RETURNING id`,
		n.ID, n.Title, n.Parent, n.ParentTurn, w.db.Time(n.Created), w.db.Time(n.Updated))
	if n.Title != "" {
		w.index("sessions", Indexed{id, []string{n.Title}})
	}
	w.setMetadata(id, n.Metadata)
	return id
}

// The parts of a statement that adds turns.
const (
	insertTurn = `
	INSERT INTO turns (session, number, question, answer, list, link, winner, status, started, ended, messages,
		calls, input_tokens, output_tokens, cached_tokens, unknown_calls, cost_usd) VALUES `
	keyOf   = "{key_of} ${end}"
	turnRow = "($, $, " + keyOf + ", " + keyOf + ", " + keyOf + ", " + keyOf + ", $, $, $, $, $, $, $, $, $, $, $)"
)

// turnArgs are the values of turnRow.
func (d Dialect) turnArgs(session int64, t sessions.Turn) []any {
	var answer any
	if t.Link != (blob.Ref{}) {
		answer = SumOf(sessions.RefOf([]byte(t.Answer)))
	}
	return append([]any{
		session, t.Number, SumOf(sessions.RefOf([]byte(t.Question))), answer, sumOrNull(t.Messages), sumOrNull(t.Link),
		t.Winner, t.Status, d.Time(t.Started), d.timeOrNull(t.Ended), t.MessageCount,
	}, usageArgs(t.Usage)...)
}

// usageArgs are a usage as it is kept. A cost that is unknown is NULL, with which every sum
// is NULL, and no calls cost nothing.
func usageArgs(u budget.Usage) []any {
	cost := u.CostUSD
	if u.Calls == 0 {
		cost = new(float64)
	}
	return []any{u.Calls, u.InputTokens, u.OutputTokens, u.CachedInputTokens, u.UnknownCalls, cost}
}
