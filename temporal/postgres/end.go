package postgres

import (
	"cmp"
	"context"
	"errors"

	"github.com/massgen/massgen/coordinator/kernel"
	"github.com/massgen/massgen/sessions"
)

// Commit keeps what a turn came to, as End does, and goes on holding its session, for
// calls that follow the answer: their events may be appended until End, whose usage is
// added to this one. If the process ends before that, the turn is none that was
// interrupted. The session is let go of if Commit fails.
func (s *Store) Commit(ctx context.Context, id string, turn int, e sessions.Ended) error {
	return s.finish(ctx, id, turn, func(w *writer, r running) (mayLetGo bool) {
		if r.committed {
			w.refuse(sessions.NotRunning(id, turn))
			return false
		}
		w.end(id, r, e)
		return true
	})
}

// End lets go of a session. What the turn came to is kept unless it has neither
// an answer nor a journal: then its number is given to the next one. A turn that
// has an answer joins the history in one transaction, so that it is there whole
// or not at all. Of a turn that was committed, only the usage is kept, in addition.
// The session is let go of also if End fails, at the latest when the lease is over.
func (s *Store) End(ctx context.Context, id string, turn int, e sessions.Ended) error {
	err := s.finish(ctx, id, turn, func(w *writer, r running) (mayLetGo bool) {
		switch {
		case r.committed:
			w.addUsage(r.row, e.Usage)
		case r.row.turn != 0 || e.Winner != "":
			w.end(id, r, e)
		}
		w.letGo(s, id, turn)
		return true
	})
	if err == nil {
		s.giveUp(id)
	}
	return err
}

// finish does something to a turn that holds a session. If that fails, the session is let
// go of, unless do has said that it may not be.
func (s *Store) finish(ctx context.Context, id string, turn int, do func(*writer, running) (mayLetGo bool)) error {
	mayLetGo := true // what was not begun has failed too
	err := s.change(ctx, "end a turn of session "+id, func(w *writer) {
		r := w.mine(s, id, turn)
		mayLetGo = w.err == nil && do(w, r)
	})
	if err == nil || !mayLetGo {
		return err
	}
	_, alsoErr := s.letGo(ctx, id, turn)
	return errors.Join(err, alsoErr)
}

// Leave lets go of a session whose turn is not over: it counts as interrupted then,
// as if its process had ended, unless it was committed.
func (s *Store) Leave(ctx context.Context, id string, turn int) error {
	gone, err := s.letGo(ctx, id, turn)
	if err == nil && !gone {
		err = sessions.NotRunning(id, turn)
	}
	return err
}

// addUsage adds what followed the answer of a turn that was committed.
func (w *writer) addUsage(row rows, u sessions.Usage) {
	w.exec(`
		UPDATE turns SET calls = calls + $2, input_tokens = input_tokens + $3, output_tokens = output_tokens + $4,
			cached_tokens = cached_tokens + $5, unknown_calls = unknown_calls + $6, cost_usd = cost_usd + $7
		WHERE id = $1`,
		row.turn, u.Calls, u.InputTokens, u.OutputTokens, u.CachedInputTokens, u.UnknownCalls, cost(u))
	w.addUp(row.session, 0, u)
}

// end keeps what a turn came to.
func (w *writer) end(id string, r running, e sessions.Ended) {
	e, err := e.Checked()
	w.refuse(err)
	row := w.keep(id, r)
	t := sessions.Turn{
		Number: r.number, Question: cmp.Or(e.Question, r.question), Answer: e.Answer, Winner: e.Winner, Status: e.Status,
		Started: r.at, Ended: r.at, Usage: e.Usage, Messages: e.Messages, MessageCount: e.MessageCount,
	}
	w.keepText(row.turn, []byte(t.Question))
	if t.Winner != "" {
		link := w.link(row.session, t)
		t.Link = sessions.RefOf(link)
		w.keepText(row.turn, []byte(t.Answer))
		w.keepText(row.turn, link)
		w.exec("UPDATE sessions SET head = $2 WHERE id = $1", row.session, sumOf(t.Link))
		title := sessions.TitleOf(t.Question)
		w.exec("UPDATE sessions SET title = $2, title_words = $3::tsvector WHERE id = $1 AND title = ''", row.session, title, vector(title))
	}
	if t.Messages != (kernel.Ref{}) {
		w.nameList(row.turn, t.Messages)
	}
	args := turnArgs(row.session, t)
	w.exec(`
		UPDATE turns SET question = $2, answer = $3, list = $4, link = $5, winner = $6, status = $7, ended = $8, messages = $9,
			calls = $10, input_tokens = $11, output_tokens = $12, cached_tokens = $13, unknown_calls = $14, cost_usd = $15,
			words = $16::tsvector
		WHERE id = $1`, append(append([]any{row.turn}, args[2:8]...), args[9:]...)...)
	w.exec("UPDATE sessions SET updated = $2 WHERE id = $1", row.session, r.at)
	w.addUp(row.session, t.MessageCount, t.Usage)
}

// link returns the link that adds a turn to its session's history.
func (w *writer) link(session int64, t sessions.Turn) []byte {
	var head storedRef
	w.row("SELECT sha256, length(data) FROM texts WHERE sha256 = (SELECT head FROM sessions WHERE id = $1)", []any{session}, &head.sum, &head.bytes)
	link, err := sessions.Link{
		Previous: head.ref(), Turn: t.Number, Messages: t.Messages,
		Question: sessions.RefOf([]byte(t.Question)), Answer: sessions.RefOf([]byte(t.Answer)),
	}.Encode()
	w.refuse(err)
	return link
}

// addUp adds a turn to its session's sums.
func (w *writer) addUp(session int64, messages int, u sessions.Usage) {
	w.exec(`
		UPDATE sessions SET messages = messages + $2, calls = calls + $3,
			input_tokens = input_tokens + $4, output_tokens = output_tokens + $5,
			cached_tokens = cached_tokens + $6, unknown_calls = unknown_calls + $7, cost_usd = cost_usd + $8
		WHERE id = $1`,
		session, messages, u.Calls, u.InputTokens, u.OutputTokens, u.CachedInputTokens, u.UnknownCalls, cost(u))
}

// cost returns what a usage costs as it is kept: unknown is NULL, with which every
// sum is NULL, and no calls cost nothing.
func cost(u sessions.Usage) *float64 {
	if u.Calls == 0 {
		return new(float64)
	}
	return u.CostUSD
}
