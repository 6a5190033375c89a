package sqlstore

import (
	"context"
	"database/sql"
	"slices"

	"github.com/massgen/massgen/internal/coordination/budget"
	"github.com/massgen/massgen/internal/coordination/kernel"
	"github.com/massgen/massgen/internal/system/blob"
	"github.com/massgen/massgen/sessions"
)

// Hold implements sessions.Backing.
func (s *Store) Hold(ctx context.Context, id string, next func(sessions.Last) (sessions.Held, error)) error {
	return s.holds.Acquire(ctx, id, func(last Last) (Running, error) {
		h, err := next(last.Last)
		r := Running{Held: h, Session: last.Session}
		if h.Stored {
			r.Turn = last.Turn
		}
		return r, err
	})
}

// LastTurn returns the data of a session's last turn that the next one needs.
func (d *DB) LastTurn(ctx context.Context, id string) (Last, error) {
	list, err := Few(ctx, d, "read session "+id, scanLast, lastTurn, id)
	return onlyLast(list), err
}

// LastTurn returns the data of a session's last turn that the next one needs.
func (w *Tx) LastTurn(id string) Last { return onlyLast(List(w, scanLast, lastTurn, id)) }

// Running returns the rows of a turn that holds its session.
func (w *Tx) Running(id string, number int) Running {
	r := Running{Held: sessions.Held{Number: number}}
	var turn sql.NullInt64
	var status sql.NullString
	var head storedRef
	w.Row(`
		SELECT sessions.id, turns.id, status, sha256, length(data) FROM sessions
		LEFT JOIN turns ON session = sessions.id AND number = $2
		LEFT JOIN texts ON texts.{key} = head
		WHERE name = $1`, []any{id, number}, &r.Session, &turn, &status, &head.sum, &head.bytes)
	r.Turn, r.Stored, r.History = turn.Int64, turn.Valid, head.ref()
	r.Committed = turn.Valid && status.String != sessions.Running
	return r
}

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

// Append implements sessions.Backing.
func (s *Store) Append(ctx context.Context, what, id string, turn int, ends bool, do func(*sessions.Held) (*sessions.Change, error)) error {
	var change *sessions.Change
	err := s.holds.Write(ctx, what, id, turn, ends, func(w *Tx, r *Running) {
		var err error
		change, err = do(&r.Held)
		w.Refuse(err)
		if change != nil && !w.Failed() {
			w.apply(id, r, change)
		}
	})
	if err == nil && change != nil {
		s.db.Texts.Named(change.Names, ends)
	}
	return err
}

// apply changes a running turn.
func (w *Tx) apply(id string, r *Running, c *sessions.Change) {
	names := c.Names
	var texts []text
	add := func(data []byte) {
		t := newText(data)
		texts, names = append(texts, t), append(slices.Clip(names), t.ref)
	}
	for _, data := range c.Texts {
		add(data)
	}
	isNew := r.Turn == 0
	if isNew {
		add([]byte(r.Question))
	}
	if c.Outcome != nil && c.Outcome.Messages != (blob.Ref{}) {
		names = append(slices.Clip(names), c.Outcome.Messages)
	}
	w.check(w.supply(names, texts...))
	if isNew && w.err == nil {
		w.keep(id, r)
		w.setMetadata(r.Session, c.Metadata)
	}
	if c.Outcome != nil && c.Outcome.Messages != (blob.Ref{}) {
		listed := w.inMessages(c.Outcome.Messages)
		w.supply(listed)
		names = append(slices.Clip(names), listed...)
	}
	w.name(r.Turn, names)
	if c.Events != nil {
		w.addEvents(id, r, c, isNew)
	}
	if c.Outcome != nil {
		w.end(r, c)
	}
	if c.Later != nil {
		w.addUsage(r, *c.Later)
	}
}

func (w *Tx) addEvents(id string, r *Running, c *sessions.Change, isNew bool) {
	if r.Events == 0 && !isNew {
		w.Row("SELECT coalesce(max(place) + 1, 0) FROM events WHERE turn = $1", []any{r.Turn}, &r.Events)
	}
	events, err := c.Rest(id, r.Number, r.Events)
	w.Refuse(err)
	rows := make([][]any, len(events))
	for i, event := range events {
		rows[i] = []any{r.Turn, r.Events + i, event}
	}
	w.insert("INSERT INTO events (turn, place, data) VALUES ", "($, $, $)", "", rows)
	r.Events += len(events)
}

// keep stores a running turn that is not stored yet. Its question must be stored.
func (w *Tx) keep(id string, r *Running) {
	if r.Session == 0 {
		r.Session = w.newSession(sessions.Session{ID: id, Turns: r.Number, Created: w.At, Updated: w.At, Metadata: sessions.ParseID(id)})
	} else {
		w.cut(r.Session, r.Number-1, r.Cut)
		w.Exec("UPDATE sessions SET turns = $2, updated = $3 WHERE id = $1", r.Session, r.Number, w.db.Time(w.At))
	}
	r.Turn = w.ID(insertTurn+numbered(turnRow, 1)+" RETURNING id", w.db.turnArgs(r.Session, sessions.Turn{
		Number: r.Number, Question: r.Question, Status: sessions.Running, Started: w.At,
	})...)
	r.Stored = true
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
		UPDATE turns SET status = $2, calls = $3, input_tokens = $4, output_tokens = $5, cached_tokens = $6, reasoning_tokens = $7,
			unknown_calls = $8, cost_usd = $9
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

// newSession adds a session, whose turns are to be added.
func (w *Tx) newSession(n sessions.Session) int64 {
	id := w.ID(`
		INSERT INTO sessions (name, title, parent, parent_turn, created, updated, turns, messages,
			calls, input_tokens, output_tokens, cached_tokens, reasoning_tokens, unknown_calls, cost_usd)
		VALUES ($1, $2, $3, $4, $5, $6, $7, 0, 0, 0, 0, 0, 0, 0, 0) RETURNING id`,
		n.ID, n.Title, n.Parent, n.ParentTurn, w.db.Time(n.Created), w.db.Time(n.Updated), n.Turns)
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
		calls, input_tokens, output_tokens, cached_tokens, reasoning_tokens, unknown_calls, cost_usd) VALUES `
	keyOf   = "{key_of} ${end}"
	turnRow = "($, $, " + keyOf + ", " + keyOf + ", " + keyOf + ", " + keyOf + ", $, $, $, $, $, $, $, $, $, $, $, $)"
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

// usageArgs returns a usage in the form of columns. An unknown cost is NULL, which makes every
// sum NULL, and no calls cost nothing.
func usageArgs(u budget.Usage) []any {
	cost := u.CostUSD
	if u.Calls == 0 {
		cost = new(float64)
	}
	return []any{u.Calls, u.InputTokens, u.OutputTokens, u.CachedInputTokens, u.ReasoningTokens, u.UnknownCalls, cost}
}
