package sqlstore

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
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
	where, args := chosen(f)
	query := selectSessions + where + " ORDER BY updated DESC, name"
	if f.Limit > 0 {
		args = append(args, f.Limit)
		query += fmt.Sprintf(" LIMIT $%d", len(args))
	}
	if f.ID != "" {
		return Few(ctx, s.db, what, scanSession, query, args...)
	}
	return Rows(ctx, s.db, what, scanSession, query, args...)
}

// chosen returns the condition of a filter.
func chosen(f sessions.Filter) (where string, args []any) {
	conditions := []string{isShown}
	if f.ID != "" {
		args, conditions = append(args, f.ID), append(conditions, "sessions.name = $1")
	}
	for key, value := range f.Metadata {
		args = append(args, key, value)
		conditions = append(conditions, fmt.Sprintf(
			"EXISTS (SELECT 1 FROM metadata WHERE session = sessions.id AND key = $%d AND value = $%d)", len(args)-1, len(args)))
	}
	if f.Unended {
		conditions = append(conditions, "sessions.id IN (SELECT session FROM turns WHERE status = 'running')")
	}
	return " WHERE " + strings.Join(conditions, " AND "), args
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
