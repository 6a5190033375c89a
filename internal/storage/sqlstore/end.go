package sqlstore

import (
	"time"

	"github.com/massgen/massgen/internal/coordination/budget"
	"github.com/massgen/massgen/internal/system/blob"
	"github.com/massgen/massgen/sessions"
)

// addUsage adds the usage of the calls after a committed turn's answer.
func (w *Tx) addUsage(r *Running, u budget.Usage) {
	w.Exec(`
		UPDATE turns SET calls = calls + $2, input_tokens = input_tokens + $3, output_tokens = output_tokens + $4,
			cached_tokens = cached_tokens + $5, reasoning_tokens = reasoning_tokens + $6,
			unknown_calls = unknown_calls + $7, cost_usd = cost_usd + $8
		WHERE id = $1`, append([]any{r.Turn}, usageArgs(u)...)...)
	w.addUp(r.Session, sums{usage: u})
}

// end stores the outcome of a turn.
func (w *Tx) end(r *Running, c *sessions.Change) {
	t := *c.Outcome
	t.Ended = w.At
	w.endTurn(r.Turn, t)
	if c.Title != "" && w.Exec("UPDATE sessions SET title = $2 WHERE id = $1 AND title = ''", r.Session, c.Title) > 0 {
		w.index("sessions", Indexed{r.Session, []string{c.Title}})
	}
	w.addUp(r.Session, sums{head: t.Link, updated: w.At, messages: t.MessageCount, usage: t.Usage})
}

// endTurn fills in the outcome of a turn's row.
func (w *Tx) endTurn(id int64, t sessions.Turn) {
	args := w.db.turnArgs(id, t)
	w.Exec(`
		UPDATE turns SET question = {key_of} $2{end}, answer = {key_of} $3{end}, list = {key_of} $4{end}, link = {key_of} $5{end},
			winner = $6, status = $7, ended = $8, messages = $9,
			calls = $10, input_tokens = $11, output_tokens = $12, cached_tokens = $13, reasoning_tokens = $14,
			unknown_calls = $15, cost_usd = $16
		WHERE id = $1`, append(append([]any{id}, args[2:8]...), args[9:]...)...)
	w.index("turns", Indexed{id, []string{t.Question, t.Answer}})
}

// sums are a turn's additions to its session. Zero fields change nothing.
type sums struct {
	head     blob.Ref
	updated  time.Time
	messages int
	usage    budget.Usage
}

// addUp adds sums to a session.
func (w *Tx) addUp(session int64, add sums) {
	w.Exec(`
		UPDATE sessions SET head = coalesce({key_of} $2{end}, head), updated = coalesce($3, updated),
			messages = messages + $4, calls = calls + $5, input_tokens = input_tokens + $6, output_tokens = output_tokens + $7,
			cached_tokens = cached_tokens + $8, reasoning_tokens = reasoning_tokens + $9,
			unknown_calls = unknown_calls + $10, cost_usd = cost_usd + $11
		WHERE id = $1`,
		append([]any{session, sumOrNull(add.head), w.db.timeOrNull(add.updated), add.messages}, usageArgs(add.usage)...)...)
}
