package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"sync"
	"time"

	"github.com/massgen/massgen/coordinator/kernel"
	"github.com/massgen/massgen/sessions"
)

// running is a turn that holds its session.
type running struct {
	number   int
	question string
	began    int64
	lock     *fileLock

	mu        sync.Mutex     // one change of the turn at a time
	row       rows           // zero before there is anything to keep
	cut       sessions.Usage // of the turn that it gives up
	committed bool
	over      bool
}

// rows are the ids of a session and a turn of it.
type rows struct{ session, turn int64 }

// Begin holds a session, which begins to exist with the turn's first event, for a
// turn that asks question. On a session that is held, here or in another process,
// it returns ErrBusy.
func (s *Store) Begin(ctx context.Context, id, question string) (sessions.Begun, error) {
	if err := sessions.CheckQuestion(question); err != nil {
		return sessions.Begun{}, err
	}
	return s.take(ctx, id, func(last lastTurn) (*running, error) {
		return &running{number: last.number + 1, question: question}, nil
	})
}

// Resume holds a session for its last turn, which must be one that Interrupted
// names, so that its journal goes on where it stopped.
func (s *Store) Resume(ctx context.Context, id string) (sessions.Begun, error) {
	return s.take(ctx, id, func(last lastTurn) (*running, error) {
		switch {
		case last.number == 0:
			return nil, sessions.NoSession(id)
		case last.status != sessions.Running:
			return nil, sessions.NothingInterrupted(id)
		}
		return &running{number: last.number, question: last.question, row: last.row}, nil
	})
}

// take holds a session for the turn that next makes of its last one.
func (s *Store) take(ctx context.Context, id string, next func(lastTurn) (*running, error)) (sessions.Begun, error) {
	lock, err := s.hold(ctx, id)
	if err != nil {
		return sessions.Begun{}, err
	}
	last, err := s.lastTurn(ctx, id)
	if err != nil {
		return sessions.Begun{}, errors.Join(err, lock.release())
	}
	r, err := next(last)
	if err != nil {
		return sessions.Begun{}, errors.Join(err, lock.release())
	}
	r.lock = lock
	s.mu.Lock()
	defer s.mu.Unlock()
	r.began = s.tick()
	s.running[id] = r
	b := sessions.Begun{Turn: r.number, History: last.head}
	if last.status == sessions.Running && last.number < r.number {
		b.Interrupted = last.number
	}
	return b, nil
}

// lastTurn is what a session's next turn needs to know of the one before it; all
// of it is zero for a session that is not there.
type lastTurn struct {
	row      rows
	number   int
	status   kernel.Status
	question string
	head     kernel.Ref
}

func (s *Store) lastTurn(ctx context.Context, id string) (last lastTurn, err error) {
	var question []byte
	var head storedRef
	err = s.read.QueryRowContext(ctx, `
		SELECT sessions.id, turns.id, turns.number, turns.status, question.data, head.sha256, length(head.data)
		FROM sessions
		JOIN turns ON turns.session = sessions.id AND turns.number = sessions.turns
		JOIN texts AS question ON question.id = turns.question
		LEFT JOIN texts AS head ON head.id = sessions.head
		WHERE sessions.name = ?`, id,
	).Scan(&last.row.session, &last.row.turn, &last.number, &last.status, &question, &head.sum, &head.bytes)
	if errors.Is(err, sql.ErrNoRows) {
		return lastTurn{}, nil
	}
	last.question, last.head = string(question), head.ref()
	return last, fault(s.path, "read session "+id, err)
}

// NoteCut says what the calls of an interrupted turn have cost, which the running turn
// after it gives up: it counts from the running turn's first event on, and what is said
// after that does not count.
func (s *Store) NoteCut(ctx context.Context, id string, turn int, u sessions.Usage) error {
	return s.during(id, turn, func(r *running) error {
		r.cut = u
		return ctx.Err()
	})
}

// Append adds events to the journal of a running turn, all or none. Every text that they
// name must have been put. When Append returns, they are on disk.
func (s *Store) Append(ctx context.Context, id string, turn int, events ...[]byte) error {
	return s.during(id, turn, func(r *running) error {
		refs, err := sessions.RefsOfEvents(id, turn, events)
		if err != nil {
			return err
		}
		var row rows
		err = s.change(ctx, "write the journal of session "+id, func(w *writer) {
			row = w.keep(id, r)
			for _, ref := range refs {
				w.text(row.turn, ref, s.putBefore(ref))
			}
			for _, event := range events {
				w.exec("INSERT INTO events (turn, data) VALUES (?, ?)", row.turn, event)
			}
		})
		if err != nil {
			return err
		}
		r.row = row
		s.named(refs)
		return nil
	})
}

// during does something to the turn that holds a session, while nobody else does.
func (s *Store) during(id string, turn int, do func(*running) error) error {
	s.mu.Lock()
	r := s.running[id]
	s.mu.Unlock()
	if r == nil || r.number != turn {
		return sessions.NotRunning(id, turn)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.over {
		return sessions.NotRunning(id, turn)
	}
	return do(r)
}

// keep returns where a running turn is kept, and begins to keep it.
func (w *writer) keep(id string, r *running) rows {
	if r.row != (rows{}) {
		return r.row
	}
	now := time.Now().UnixMilli()
	row := rows{session: w.id("SELECT id FROM sessions WHERE name = ?", id)}
	if row.session == 0 {
		row.session = w.newSession(sessions.Session{
			ID: id, Created: time.UnixMilli(now), Updated: time.UnixMilli(now), Metadata: sessions.ParseID(id),
		})
	}
	w.cut(row.session, r.number-1, r.cut)
	w.exec("UPDATE sessions SET turns = ?, updated = ? WHERE id = ?", r.number, now, row.session)
	row.turn = w.newTurn(row.session, sessions.Turn{
		Number: r.number, Question: r.question, Status: sessions.Running, Started: time.UnixMilli(now),
	})
	return row
}

// cut ends a turn that was interrupted and that another follows.
func (w *writer) cut(session int64, turn int, u sessions.Usage) {
	given := w.exec(`
		UPDATE turns SET status = ?, calls = ?, input_tokens = ?, output_tokens = ?, cached_tokens = ?, unknown_calls = ?, cost_usd = ?
		WHERE session = ? AND number = ? AND status = 'running'`,
		kernel.Cut, u.Calls, u.InputTokens, u.OutputTokens, u.CachedInputTokens, u.UnknownCalls, cost(u), session, turn)
	if given > 0 {
		w.addUp(session, sessions.Turn{Usage: u})
	}
}

// newSession adds a session that has no turns yet.
func (w *writer) newSession(n sessions.Session) int64 {
	id := w.id(`
		INSERT INTO sessions (name, title, parent, parent_turn, created, updated, turns, messages,
			calls, input_tokens, output_tokens, cached_tokens, unknown_calls, cost_usd)
		VALUES (?, ?, ?, ?, ?, ?, 0, 0, 0, 0, 0, 0, 0, 0) RETURNING id`,
		n.ID, n.Title, n.Parent, n.ParentTurn, n.Created.UnixMilli(), n.Updated.UnixMilli())
	w.setMetadata(id, n.Metadata)
	return id
}

// newTurn adds a turn as it is before it has ended.
func (w *writer) newTurn(session int64, t sessions.Turn) int64 {
	// The question's text cannot name its turn before that is there, so it is filled
	// in afterwards.
	id := w.id(`
		INSERT INTO turns (session, number, question, winner, status, started, messages,
			calls, input_tokens, output_tokens, cached_tokens, unknown_calls, cost_usd)
		VALUES (?, ?, 0, '', 'running', ?, 0, 0, 0, 0, 0, 0, 0) RETURNING id`,
		session, t.Number, t.Started.UnixMilli())
	w.exec("UPDATE turns SET question = ? WHERE id = ?", w.newText(id, []byte(t.Question)), id)
	return id
}

// Commit keeps what a turn came to, as End does, and goes on holding its session, for
// calls that follow the answer: their events may be appended until End, whose usage is
// added to this one. If the process ends before that, the turn is none that was
// interrupted. The session is let go of if Commit fails.
func (s *Store) Commit(ctx context.Context, id string, turn int, e sessions.Ended) error {
	return s.during(id, turn, func(r *running) error {
		if r.committed {
			return sessions.NotRunning(id, turn)
		}
		if err := s.end(ctx, id, r, e); err != nil {
			return errors.Join(err, s.letGo(id, r))
		}
		r.committed = true
		return nil
	})
}

// End lets go of a session. What the turn came to is kept unless it has neither
// an answer nor a journal: then its number is given to the next one. A turn that
// has an answer joins the history in one transaction, so that it is there whole
// or not at all. Of a turn that was committed, only the usage is kept, in addition.
// The session is let go of also if End fails.
func (s *Store) End(ctx context.Context, id string, turn int, e sessions.Ended) error {
	return s.during(id, turn, func(r *running) error {
		keep := s.end
		if r.committed {
			keep = s.addUsage
		}
		return errors.Join(keep(ctx, id, r, e), s.letGo(id, r))
	})
}

// addUsage adds what followed the answer of a turn that was committed.
func (s *Store) addUsage(ctx context.Context, id string, r *running, e sessions.Ended) error {
	return s.change(ctx, "add to the usage of session "+id, func(w *writer) {
		u := e.Usage
		w.exec(`
			UPDATE turns SET calls = calls + ?, input_tokens = input_tokens + ?, output_tokens = output_tokens + ?,
				cached_tokens = cached_tokens + ?, unknown_calls = unknown_calls + ?, cost_usd = cost_usd + ?
			WHERE id = ?`,
			u.Calls, u.InputTokens, u.OutputTokens, u.CachedInputTokens, u.UnknownCalls, cost(u), r.row.turn)
		w.addUp(r.row.session, sessions.Turn{Usage: u})
	})
}

// Leave lets go of a session whose turn is not over: it counts as interrupted then,
// as if its process had ended, unless it was committed.
func (s *Store) Leave(_ context.Context, id string, turn int) error {
	return s.during(id, turn, func(r *running) error { return s.letGo(id, r) })
}

// letGo ends what a turn holds. The caller has the turn's lock.
func (s *Store) letGo(id string, r *running) error {
	r.over = true
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.running[id] != r { // Close was here
		return nil
	}
	delete(s.running, id)
	s.sweep()
	return fault(s.path, "unlock session "+id, r.lock.release())
}

func (s *Store) end(ctx context.Context, id string, r *running, e sessions.Ended) error {
	if r.row == (rows{}) && e.Winner == "" {
		return ctx.Err()
	}
	e, err := e.Checked()
	if err := cmp.Or(err, ctx.Err()); err != nil {
		return err
	}
	return s.change(ctx, "end a turn of session "+id, func(w *writer) {
		row := w.keep(id, r)
		t := sessions.Turn{
			Number: r.number, Question: cmp.Or(e.Question, r.question), Answer: e.Answer, Winner: e.Winner, Status: e.Status,
			Ended: time.Now(), Usage: e.Usage, Messages: e.Messages, MessageCount: e.MessageCount,
		}
		if e.Question != "" {
			w.exec("UPDATE turns SET question = ? WHERE id = ?", w.newText(row.turn, []byte(e.Question)), row.turn)
		}
		if t.Winner != "" {
			w.link(row, t, s.putBefore(e.Messages), s.putBefore)
			w.exec("UPDATE sessions SET title = ? WHERE id = ? AND title = ''", sessions.TitleOf(t.Question), row.session)
		}
		w.endTurn(row.turn, t)
		w.exec("UPDATE sessions SET updated = ? WHERE id = ?", t.Ended.UnixMilli(), row.session)
		w.addUp(row.session, t)
	})
}

// link adds a turn to the history. Of its list of messages, and of the texts that
// this names, put returns those that may not be on disk.
func (w *writer) link(row rows, t sessions.Turn, list []byte, put func(kernel.Ref) []byte) {
	var head storedRef
	w.row("SELECT sha256, length(data) FROM texts WHERE id = (SELECT head FROM sessions WHERE id = ?)",
		[]any{row.session}, &head.sum, &head.bytes)
	question, answer := []byte(t.Question), []byte(t.Answer)
	link, err := sessions.Link{
		Previous: head.ref(), Turn: t.Number, Messages: t.Messages,
		Question: sessions.RefOf(question), Answer: sessions.RefOf(answer),
	}.Encode()
	if err != nil {
		w.refuse(err)
	}
	linkID := w.newText(row.turn, link)
	w.exec("UPDATE turns SET answer = ?, link = ? WHERE id = ?", w.newText(row.turn, answer), linkID, row.turn)
	w.exec("UPDATE sessions SET head = ? WHERE id = ?", linkID, row.session)
	if t.Messages != (kernel.Ref{}) {
		w.exec("UPDATE turns SET list = ? WHERE id = ?", w.text(row.turn, t.Messages, list), row.turn)
		w.nameMessages(row.turn, t.Messages, put)
	}
}

// nameMessages keeps the texts that a list of messages names, if they are there.
func (w *writer) nameMessages(turn int64, list kernel.Ref, put func(kernel.Ref) []byte) {
	var data []byte
	w.row("SELECT data FROM texts WHERE sha256 = ?", []any{sumOf(list)}, &data)
	for _, ref := range distinct(sessions.Refs(data)) {
		text := put(ref)
		if text != nil || w.id("SELECT id FROM texts WHERE sha256 = ? AND length(data) = ?", sumOf(ref), ref.Bytes) != 0 {
			w.text(turn, ref, text)
		}
	}
}

// endTurn fills in what a turn came to, its place in the history excepted.
func (w *writer) endTurn(id int64, t sessions.Turn) {
	var ended any
	if !t.Ended.IsZero() {
		ended = t.Ended.UnixMilli()
	}
	u := t.Usage
	w.exec(`
		UPDATE turns SET winner = ?, status = ?, ended = ?, messages = ?,
			calls = ?, input_tokens = ?, output_tokens = ?, cached_tokens = ?, unknown_calls = ?, cost_usd = ?
		WHERE id = ?`,
		t.Winner, t.Status, ended, t.MessageCount,
		u.Calls, u.InputTokens, u.OutputTokens, u.CachedInputTokens, u.UnknownCalls, cost(u), id)
}

// addUp adds a turn to its session's sums.
func (w *writer) addUp(session int64, t sessions.Turn) {
	u := t.Usage
	w.exec(`
		UPDATE sessions SET messages = messages + ?, calls = calls + ?,
			input_tokens = input_tokens + ?, output_tokens = output_tokens + ?,
			cached_tokens = cached_tokens + ?, unknown_calls = unknown_calls + ?, cost_usd = cost_usd + ?
		WHERE id = ?`,
		t.MessageCount, u.Calls, u.InputTokens, u.OutputTokens, u.CachedInputTokens, u.UnknownCalls, cost(u), session)
}

// cost returns what a usage costs as it is kept: unknown is NULL, with which every
// sum is NULL, and no calls cost nothing.
func cost(u sessions.Usage) any {
	switch {
	case u.Calls == 0:
		return 0.0
	case u.CostUSD == nil:
		return nil
	}
	return *u.CostUSD
}
