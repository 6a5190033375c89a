package sqlstore

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/massgen/massgen/internal/coordination/budget"
	"github.com/massgen/massgen/sessions"
)

const (
	selectSessions = `
	SELECT sessions.name, title, parent, parent_turn, created, updated, turns, messages,
		calls, input_tokens, output_tokens, cached_tokens, reasoning_tokens, unknown_calls, cost_usd,
		(SELECT {object}(key, value) FROM metadata WHERE session = sessions.id)
	FROM sessions`
	selectTurns = `
	SELECT number, question.data, answer.data, winner, status, started, ended, turns.messages,
		turns.calls, turns.input_tokens, turns.output_tokens, turns.cached_tokens, turns.reasoning_tokens, turns.unknown_calls, turns.cost_usd,
		list.sha256, length(list.data), link.sha256, length(link.data)
	FROM sessions
	JOIN turns ON turns.session = sessions.id
	JOIN texts AS question ON question.{key} = turns.question
	LEFT JOIN texts AS answer ON answer.{key} = turns.answer
	LEFT JOIN texts AS list ON list.{key} = turns.list
	LEFT JOIN texts AS link ON link.{key} = turns.link
	WHERE sessions.name = $1`
	selectEvents = `
	SELECT data FROM events
	WHERE turn = (SELECT turns.id FROM turns JOIN sessions ON sessions.id = turns.session WHERE name = $1 AND number = $2)
	AND place >= $3
	ORDER BY place`
)

func scanSession(rows *sql.Rows) (n sessions.Session, err error) {
	var created, updated stamp
	var metadata []byte
	err = rows.Scan(&n.ID, &n.Title, &n.Parent, &n.ParentTurn, &created, &updated, &n.Turns, &n.Messages,
		&n.Usage.Calls, &n.Usage.InputTokens, &n.Usage.OutputTokens, &n.Usage.CachedInputTokens, &n.Usage.ReasoningTokens, &n.Usage.UnknownCalls, &n.Usage.CostUSD,
		&metadata)
	if err != nil {
		return n, err
	}
	n.Created, n.Updated = created.Time, updated.Time
	n.Usage = n.Usage.Plus(budget.Usage{})
	if len(metadata) > len("{}") {
		err = json.Unmarshal(metadata, &n.Metadata)
	}
	return n, err
}

// List implements sessions.Backing.
func (s *Store) List(ctx context.Context, f sessions.Filter) ([]sessions.Session, error) {
	what := "list the sessions"
	if f.ID != "" {
		what = "read session " + f.ID
	}
	query, args := s.db.ListQuery(f)
	if f.ID != "" {
		return Few(ctx, s.db, what, scanSession, query, args...)
	}
	return Rows(ctx, s.db, what, scanSession, query, args...)
}

// ListQuery returns the query of a list. The index sessions_by_use has its order.
func (d Dialect) ListQuery(f sessions.Filter) (statement string, args []any) {
	c := d.chosen(f)
	if f.After != (sessions.Place{}) {
		used, id := c.arg(d.Time(f.After.Used)), c.arg(f.After.Session)
		c.add("sessions.updated <= " + used + " AND (sessions.updated < " + used + " OR sessions.name > " + id + ")")
	}
	return selectSessions + c.where() + " ORDER BY sessions.updated DESC, sessions.name" + c.limit(f.Limit), c.args
}

// condition is the WHERE of a statement, with its arguments.
type condition struct {
	parts []string
	args  []any
}

func (c *condition) add(part string) { c.parts = append(c.parts, part) }

// arg adds an argument and returns its name, such as $2.
func (c *condition) arg(value any) string {
	c.args = append(c.args, value)
	return "$" + strconv.Itoa(len(c.args))
}

func (c *condition) where() string { return " WHERE " + strings.Join(c.parts, " AND ") }

// limit returns the LIMIT of a statement, "" for 0.
func (c *condition) limit(most int) string {
	if most == 0 {
		return ""
	}
	return " LIMIT " + c.arg(most)
}

// chosen returns the condition of a filter, without its place. args are the arguments before.
func (d Dialect) chosen(f sessions.Filter, args ...any) *condition {
	c := &condition{[]string{isShown}, args}
	if f.ID != "" {
		c.add("sessions.name = " + c.arg(f.ID))
	}
	for _, key := range slices.Sorted(maps.Keys(f.Metadata)) {
		c.add("EXISTS (SELECT 1 FROM metadata WHERE session = sessions.id AND key = " + c.arg(key) + " AND value = " + c.arg(f.Metadata[key]) + ")")
	}
	if f.Unended {
		c.add("sessions.id IN (SELECT session FROM turns WHERE status = 'running')")
	}
	if !f.UnusedSince.IsZero() {
		c.add("sessions.updated < " + c.arg(d.Time(f.UnusedSince)))
	}
	return c
}

// Totals implements sessions.Backing.
func (s *Store) Totals(ctx context.Context, f sessions.Filter) (t sessions.Totals, err error) {
	const sums = `
		SELECT count(*), sum(calls), sum(input_tokens), sum(output_tokens), sum(cached_tokens), sum(reasoning_tokens), sum(unknown_calls),
			sum(CASE WHEN calls > 0 THEN cost_usd END), count(CASE WHEN calls > 0 AND cost_usd IS NULL THEN 1 END)
		FROM sessions`
	c := s.db.chosen(f)
	_, err = Rows(ctx, s.db, "add up the sessions", func(rows *sql.Rows) (struct{}, error) {
		var calls, input, output, cached, reasoning, unknown sum
		var cost sql.NullFloat64
		var unpriced int
		err := rows.Scan(&t.Sessions, &calls, &input, &output, &cached, &reasoning, &unknown, &cost, &unpriced)
		t.Usage = sessions.Usage{
			Calls: int(calls), InputTokens: int(input), OutputTokens: int(output),
			CachedInputTokens: int(cached), ReasoningTokens: int(reasoning), UnknownCalls: int(unknown),
		}
		if cost.Valid && unpriced == 0 {
			t.Usage.CostUSD = &cost.Float64
		}
		return struct{}{}, err
	}, sums+c.where(), c.args...)
	return t, err
}

// sum is a sum of counts as databases return it: as an integer, or as a decimal number. NULL is 0.
type sum int

// Scan implements sql.Scanner.
func (s *sum) Scan(value any) (err error) {
	var n sql.NullInt64
	err = n.Scan(value)
	*s = sum(n.Int64)
	return err
}

func scanTurn(rows *sql.Rows) (t sessions.Turn, err error) {
	var question, answer []byte
	var started, ended stamp
	var list, link storedRef
	err = rows.Scan(&t.Number, &question, &answer, &t.Winner, &t.Status, &started, &ended, &t.MessageCount,
		&t.Usage.Calls, &t.Usage.InputTokens, &t.Usage.OutputTokens, &t.Usage.CachedInputTokens, &t.Usage.ReasoningTokens, &t.Usage.UnknownCalls, &t.Usage.CostUSD,
		&list.sum, &list.bytes, &link.sum, &link.bytes)
	t.Question, t.Answer, t.Started, t.Ended = string(question), string(answer), started.Time, ended.Time
	t.Usage = t.Usage.Plus(budget.Usage{})
	t.Messages, t.Link = list.ref(), link.ref()
	return t, err
}

// Last implements sessions.Backing.
func (s *Store) Last(ctx context.Context, id string, last int, isIdle bool) (turns []sessions.Turn, err error) {
	query, args := selectTurns, []any{id}
	if isIdle {
		query += " AND number = sessions.turns AND status = 'running'{unheld}"
	}
	query += " ORDER BY number DESC"
	if last > 0 {
		query, args = query+" LIMIT $2", append(args, last)
	}
	read := func() error {
		turns, err = Rows(ctx, s.db, "read session "+id, scanTurn, query, args...)
		slices.Reverse(turns)
		return err
	}
	if isIdle {
		err = s.holds.Unheld(ctx, id, read)
	} else {
		err = read()
	}
	if errors.Is(err, sessions.ErrBusy) {
		return nil, nil
	}
	return turns, err
}

// Journal implements sessions.Backing.
func (s *Store) Journal(ctx context.Context, id string, turn, from int) ([][]byte, error) {
	return Rows(ctx, s.db, "read the journal of session "+id, Scan[[]byte], selectEvents, id, turn, from)
}
