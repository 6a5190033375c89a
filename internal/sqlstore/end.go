package sqlstore

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/massgen/massgen/internal/blob"
	"github.com/massgen/massgen/internal/budget"
	"github.com/massgen/massgen/sessions"
)

// Commit keeps what a turn came to, as End does, and goes on holding its session, for calls
// that follow the answer: their events may be appended until End, whose usage is added to
// this one. If the process ends before that, the turn does not count as interrupted. The
// session is let go of if Commit fails.
func (s *Store) Commit(ctx context.Context, id string, turn int, e sessions.Ended) error {
	return s.finish(ctx, id, turn, false, func(w *Tx, r *Running) {
		if r.Committed {
			w.Refuse(sessions.NotRunning(id, turn))
			return
		}
		w.end(id, r, e)
		r.Committed = true
	})
}

// End lets go of a session. What the turn came to is kept unless it has neither an answer
// nor a journal: then its number is given to the next one. A turn that has an answer joins
// the history in one transaction, so that it is there whole or not at all. Of a turn that
// was committed, only the usage is kept, in addition. The session is let go of also if End
// fails.
func (s *Store) End(ctx context.Context, id string, turn int, e sessions.Ended) error {
	return s.finish(ctx, id, turn, true, func(w *Tx, r *Running) {
		switch {
		case r.Committed:
			w.addUsage(r, e.Usage)
		case r.Turn != 0 || e.Winner != "":
			w.end(id, r, e)
		}
	})
}

// finish runs a transaction for a turn. If that fails, the session is let go of, unless the
// turn does not hold it.
func (s *Store) finish(ctx context.Context, id string, turn int, ends bool, do func(*Tx, *Running)) error {
	err := s.holds.Write(ctx, "end a turn of session "+id, id, turn, ends, do)
	if err == nil || errors.Is(err, sessions.ErrNotRunning) {
		return err
	}
	_, alsoErr := s.holds.LetGo(ctx, id, turn)
	return errors.Join(err, alsoErr)
}

// Leave lets go of a session whose turn is not over: it counts as interrupted then, as if
// its process had ended, unless it was committed.
func (s *Store) Leave(ctx context.Context, id string, turn int) error {
	held, err := s.holds.LetGo(ctx, id, turn)
	if err == nil && !held {
		err = sessions.NotRunning(id, turn)
	}
	return err
}

// addUsage adds what followed the answer of a turn that was committed.
func (w *Tx) addUsage(r *Running, u budget.Usage) {
	w.Exec(`
		UPDATE turns SET calls = calls + $2, input_tokens = input_tokens + $3, output_tokens = output_tokens + $4,
			cached_tokens = cached_tokens + $5, unknown_calls = unknown_calls + $6, cost_usd = cost_usd + $7
		WHERE id = $1`, append([]any{r.Turn}, usageArgs(u)...)...)
	w.addUp(r.Session, sums{usage: u})
}

// end keeps what a turn came to.
func (w *Tx) end(id string, r *Running, e sessions.Ended) {
	e, err := e.Checked()
	w.Refuse(err)
	w.keep(id, r)
	t := sessions.Turn{
		Number: r.Number, Question: cmp.Or(e.Question, r.Question), Answer: e.Answer, Winner: e.Winner, Status: e.Status,
		Ended: w.At, Usage: e.Usage, Messages: e.Messages, MessageCount: e.MessageCount,
	}
	var texts []text
	if e.Question != "" {
		texts = append(texts, newText([]byte(e.Question)))
	}
	if t.Winner != "" {
		link := newText(w.link(r.Session, t))
		t.Link = link.ref
		texts = append(texts, link, newText([]byte(t.Answer)))
	}
	w.put(texts...)
	var refs []blob.Ref
	for _, t := range texts {
		refs = append(refs, t.ref)
	}
	w.name(r.Turn, refs...)
	if t.Messages != (blob.Ref{}) {
		w.nameMessages(r.Turn, t.Messages)
	}
	w.endTurn(r.Turn, t)
	title := sessions.TitleOf(t.Question)
	if t.Winner != "" && w.Exec("UPDATE sessions SET title = $2 WHERE id = $1 AND title = ''", r.Session, title) > 0 {
		w.index("sessions", Indexed{r.Session, []string{title}})
	}
	w.addUp(r.Session, sums{head: t.Link, updated: w.At, messages: t.MessageCount, usage: t.Usage})
}

// link returns the link that adds a turn to its session's history.
func (w *Tx) link(session int64, t sessions.Turn) []byte {
	var head storedRef
	w.Row("SELECT sha256, length(data) FROM texts WHERE {key} = (SELECT head FROM sessions WHERE id = $1)", []any{session}, &head.sum, &head.bytes)
	link, err := sessions.Link{
		Previous: head.ref(), Turn: t.Number, Messages: t.Messages,
		Question: sessions.RefOf([]byte(t.Question)), Answer: sessions.RefOf([]byte(t.Answer)),
	}.Encode()
	w.Refuse(err)
	return link
}

// endTurn fills in what a turn came to.
func (w *Tx) endTurn(id int64, t sessions.Turn) {
	args := w.db.turnArgs(id, t)
	w.Exec(`
		UPDATE turns SET question = {key_of} $2{end}, answer = {key_of} $3{end}, list = {key_of} $4{end}, link = {key_of} $5{end},
			winner = $6, status = $7, ended = $8, messages = $9,
			calls = $10, input_tokens = $11, output_tokens = $12, cached_tokens = $13, unknown_calls = $14, cost_usd = $15
		WHERE id = $1`, append(append([]any{id}, args[2:8]...), args[9:]...)...)
	w.index("turns", Indexed{id, []string{t.Question, t.Answer}})
}

// sums are what a turn adds to its session. What is zero changes nothing.
type sums struct {
	head     blob.Ref
	updated  time.Time
	messages int
	usage    budget.Usage
}

// addUp adds to a session.
func (w *Tx) addUp(session int64, add sums) {
	w.Exec(`
		UPDATE sessions SET head = coalesce({key_of} $2{end}, head), updated = coalesce($3, updated),
			messages = messages + $4, calls = calls + $5, input_tokens = input_tokens + $6, output_tokens = output_tokens + $7,
			cached_tokens = cached_tokens + $8, unknown_calls = unknown_calls + $9, cost_usd = cost_usd + $10
		WHERE id = $1`,
		append([]any{session, sumOrNull(add.head), w.db.timeOrNull(add.updated), add.messages}, usageArgs(add.usage)...)...)
}
