package postgres

import (
	"bytes"
	"context"
	"fmt"
	"time"

	"github.com/massgen/massgen/coordinator/kernel"
	"github.com/massgen/massgen/sessions"
)

// Begin holds a session, which begins to exist with the turn's first event, for a
// turn that asks question. On a session that is held, by this owner or another, it
// returns ErrBusy.
func (s *Store) Begin(ctx context.Context, id, question string) (sessions.Begun, error) {
	if err := sessions.CheckQuestion(question); err != nil {
		return sessions.Begun{}, err
	}
	return s.hold(ctx, id, func(last lastTurn) (turn int, asked string, err error) {
		return last.number + 1, question, nil
	})
}

// Resume holds a session for its last turn, which must be one that Interrupted
// names, so that its journal goes on where it stopped.
func (s *Store) Resume(ctx context.Context, id string) (sessions.Begun, error) {
	return s.hold(ctx, id, func(last lastTurn) (turn int, asked string, err error) {
		switch {
		case last.number == 0:
			return 0, "", sessions.NoSession(id)
		case last.status != sessions.Running:
			return 0, "", sessions.NothingInterrupted(id)
		}
		return last.number, last.question, nil
	})
}

// hold holds a session for the turn that next makes of its last one.
func (s *Store) hold(ctx context.Context, id string, next func(lastTurn) (turn int, asked string, err error)) (b sessions.Begun, err error) {
	if err := sessions.CheckID(id); err != nil {
		return b, err
	}
	err = s.change(ctx, "hold session "+id, func(w *writer) {
		w.take(s, id)
		last := w.lastTurn(id)
		turn, asked, err := next(last)
		w.refuse(err)
		w.exec("UPDATE holds SET turn = $2, question = $3 WHERE name = $1", id, turn, []byte(asked))
		b = last.begun(turn)
	})
	if err != nil {
		return sessions.Begun{}, err
	}
	s.keepUp(id)
	return b, nil
}

// Held returns the turn for which this owner holds a session, as Begin or Resume has
// returned it, and false if it holds none. Whoever does not know whether Begin has come
// to its end asks this.
func (s *Store) Held(ctx context.Context, id string) (b sessions.Begun, held bool, err error) {
	err = s.change(ctx, "look who holds session "+id, func(w *writer) {
		var turn int
		held = w.row("SELECT turn FROM holds WHERE name = $1 AND owner = $2 FOR UPDATE", []any{id, s.owner}, &turn)
		if held {
			b = w.lastTurn(id).begun(turn)
		}
	})
	if err != nil || !held {
		return sessions.Begun{}, false, err
	}
	s.keepUp(id)
	return b, true, nil
}

// lastTurn is what a session's next turn needs to know of the one before it; all
// of it is zero for a session that is not there.
type lastTurn struct {
	number   int
	status   kernel.Status
	question string
	head     kernel.Ref
}

func (w *writer) lastTurn(id string) (last lastTurn) {
	var question []byte
	var head storedRef
	w.row(`
		SELECT number, status, question.data, head.sha256, length(head.data)
		FROM sessions
		JOIN turns ON turns.session = sessions.id AND turns.number = sessions.turns
		JOIN texts AS question ON question.sha256 = turns.question
		LEFT JOIN texts AS head ON head.sha256 = sessions.head
		WHERE name = $1`, []any{id}, &last.number, &last.status, &question, &head.sum, &head.bytes)
	last.question, last.head = string(question), head.ref()
	return last
}

// begun is what the holder of a session is told for a turn.
func (last lastTurn) begun(turn int) sessions.Begun {
	b := sessions.Begun{Turn: turn, History: last.head}
	if last.status == sessions.Running && last.number < turn {
		b.Interrupted = last.number
	}
	return b
}

// NoteCut says what the calls of an interrupted turn have cost, which the running turn
// after it gives up: it counts from the running turn's first event on, and what is said
// after that does not count.
func (s *Store) NoteCut(ctx context.Context, id string, turn int, u sessions.Usage) error {
	return s.change(ctx, "note what a turn of session "+id+" has cost", func(w *writer) {
		w.mine(s, id, turn)
		w.exec("UPDATE holds SET cut = $2 WHERE name = $1", id, u)
	})
}

// Append adds events to the journal of a running turn, all or none. Every text that they
// name must have been put. When Append returns, they are committed.
func (s *Store) Append(ctx context.Context, id string, turn int, events ...[]byte) error {
	_, err := s.append(ctx, id, turn, nil, events...)
	return err
}

// AppendAt adds one event to the journal of a running turn as Append does, at a place
// in it, from 0. If the same event is there already, it does nothing: so it can be done
// again by whoever does not know whether it has been done. If there is another, it
// returns that one: of several who play one turn, all learn what it came to. A gap before
// the place is an error.
func (s *Store) AppendAt(ctx context.Context, id string, turn, place int, event []byte) (other []byte, err error) {
	return s.append(ctx, id, turn, &place, event)
}

// append adds events, the first at a place, or if that is nil at the end. At a place there is
// one event.
func (s *Store) append(ctx context.Context, id string, turn int, place *int, events ...[]byte) (other []byte, err error) {
	err = s.change(ctx, "write the journal of session "+id, func(w *writer) {
		r := w.mine(s, id, turn)
		refs, err := sessions.RefsOfEvents(id, turn, events)
		if err != nil {
			w.refuse(err)
		}
		row := w.keep(id, r)
		var end int
		w.row("SELECT coalesce(max(place) + 1, 0) FROM events WHERE turn = $1", []any{row.turn}, &end)
		other = nil
		if place != nil && *place != end {
			if other = w.there(id, row.turn, turn, *place, end); bytes.Equal(other, events[0]) {
				other = nil
			}
			return
		}
		if len(refs) > 0 {
			w.name(row.turn, refs...)
		}
		for i, event := range events {
			w.exec("INSERT INTO events (turn, place, data) VALUES ($1, $2, $3)", row.turn, end+i, event)
		}
	})
	if err != nil {
		return nil, err
	}
	return other, nil
}

// there returns the event that stands at a place.
func (w *writer) there(id string, row int64, turn, place, end int) (event []byte) {
	if !w.row("SELECT data FROM events WHERE turn = $1 AND place = $2", []any{row, place}, &event) {
		w.refuse(fmt.Errorf("event %d of turn %d of session %s cannot be written: the journal has %d events, from 0", place, turn, id, end))
	}
	return event
}

// keep returns where a running turn is kept, and begins to keep it.
func (w *writer) keep(id string, r running) rows {
	row := r.row
	if row.turn != 0 || w.err != nil {
		return row
	}
	if row.session == 0 {
		row.session = w.newSession(sessions.Session{ID: id, Created: r.at, Updated: r.at, Metadata: sessions.ParseID(id)})
	}
	w.cut(row.session, r.number-1, r.cut)
	w.exec("UPDATE sessions SET turns = $2, updated = $3 WHERE id = $1", row.session, r.number, r.at)
	row.turn = w.id(insertTurn, turnArgs(row.session, sessions.Turn{
		Number: r.number, Question: r.question, Status: sessions.Running, Started: r.at,
	})...)
	w.keepText(row.turn, []byte(r.question))
	return row
}

// cut ends a turn that was interrupted and that another follows. Like each turn that
// is over, it can be found by its words from now on.
func (w *writer) cut(session int64, turn int, u sessions.Usage) {
	var question []byte
	if w.row(`
		SELECT data FROM turns JOIN texts ON sha256 = question
		WHERE session = $1 AND number = $2 AND status = 'running'`, []any{session, turn}, &question) {
		w.exec(`
			UPDATE turns SET status = $3, words = $4::tsvector, calls = $5, input_tokens = $6, output_tokens = $7,
				cached_tokens = $8, unknown_calls = $9, cost_usd = $10
			WHERE session = $1 AND number = $2`,
			session, turn, kernel.Cut, vector(string(question), ""),
			u.Calls, u.InputTokens, u.OutputTokens, u.CachedInputTokens, u.UnknownCalls, cost(u))
		w.addUp(session, 0, u)
	}
}

// newSession adds a session that has no turns yet.
func (w *writer) newSession(n sessions.Session) int64 {
	id := w.id(`
		INSERT INTO sessions (name, title, title_words, parent, parent_turn, created, updated, turns, messages,
			calls, input_tokens, output_tokens, cached_tokens, unknown_calls, cost_usd)
		VALUES ($1, $2, $3::tsvector, $4, $5, $6, $7, 0, 0, 0, 0, 0, 0, 0, 0) RETURNING id`,
		n.ID, n.Title, vector(n.Title), n.Parent, n.ParentTurn, n.Created, n.Updated)
	w.setMetadata(id, n.Metadata)
	return id
}

const insertTurn = `
	INSERT INTO turns (session, number, question, answer, list, link, winner, status, started, ended, messages,
		calls, input_tokens, output_tokens, cached_tokens, unknown_calls, cost_usd, words)
	VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18::tsvector) RETURNING id`

// turnArgs are the arguments of insertTurn, and but for the first two those of endTurn.
func turnArgs(session int64, t sessions.Turn) []any {
	var answer []byte
	var words *string
	var ended *time.Time
	if t.Link != (kernel.Ref{}) {
		answer = sumOf(sessions.RefOf([]byte(t.Answer)))
	}
	if t.Status != sessions.Running {
		found := vector(t.Question, t.Answer)
		words = &found
	}
	if !t.Ended.IsZero() {
		ended = &t.Ended
	}
	u := t.Usage
	return []any{
		session, t.Number, sumOf(sessions.RefOf([]byte(t.Question))), answer, sumOrNull(t.Messages), sumOrNull(t.Link),
		t.Winner, t.Status, t.Started, ended, t.MessageCount,
		u.Calls, u.InputTokens, u.OutputTokens, u.CachedInputTokens, u.UnknownCalls, cost(u), words,
	}
}
