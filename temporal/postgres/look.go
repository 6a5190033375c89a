package postgres

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/massgen/massgen/sessions"
)

// rowsOf runs a query and returns what scan makes of each row.
func rowsOf[T any](ctx context.Context, s *Store, what string, scan pgx.RowToFunc[T], query string, args ...any) (list []T, err error) {
	err = s.patiently(ctx, func() error {
		list, err = rowsIn(ctx, s.pool, s.name, what, scan, query, args...)
		return err
	})
	return list, err
}

func rowsIn[T any](ctx context.Context, db querier, store, what string, scan pgx.RowToFunc[T], query string, args ...any) ([]T, error) {
	rows, err := db.Query(ctx, query, args...)
	if err != nil {
		return nil, fault(store, what, err)
	}
	list, err := pgx.CollectRows(rows, scan)
	return list, fault(store, what, err)
}

func scanHold(row pgx.CollectableRow) (h hold, err error) {
	err = row.Scan(&h.session, &h.owner)
	return h, err
}

// sessionColumns are what scanSession reads.
const sessionColumns = `sessions.name, title, parent, parent_turn, created, updated, turns, messages,
	calls, input_tokens, output_tokens, cached_tokens, unknown_calls, cost_usd,
	(SELECT json_object_agg(key, value) FROM metadata WHERE session = sessions.id)`

func scanSession(row pgx.CollectableRow) (n sessions.Session, err error) {
	err = row.Scan(&n.ID, &n.Title, &n.Parent, &n.ParentTurn, &n.Created, &n.Updated, &n.Turns, &n.Messages,
		&n.Usage.Calls, &n.Usage.InputTokens, &n.Usage.OutputTokens, &n.Usage.CachedInputTokens, &n.Usage.UnknownCalls, &n.Usage.CostUSD,
		&n.Metadata)
	n.Created, n.Updated = n.Created.UTC(), n.Updated.UTC()
	n.Usage = n.Usage.Plus(sessions.Usage{})
	return n, err
}

// List returns the sessions that f chooses, those first that were used last.
func (s *Store) List(ctx context.Context, f sessions.Filter) ([]sessions.Session, error) {
	where, args := chosen(f)
	args = append(args, limited(f.Limit))
	query := fmt.Sprintf("SELECT %s FROM sessions%s ORDER BY updated DESC, name LIMIT $%d", sessionColumns, where, len(args))
	return rowsOf(ctx, s, "list the sessions", scanSession, query, args...)
}

// limited returns a limit as SQL has it: NULL is all.
func limited(limit int) *int {
	if limit <= 0 {
		return nil
	}
	return &limit
}

// chosen returns the condition of a filter.
func chosen(f sessions.Filter) (where string, args []any) {
	var conditions []string
	for key, value := range f.Metadata {
		args = append(args, key, value)
		conditions = append(conditions, fmt.Sprintf(
			"EXISTS (SELECT 1 FROM metadata WHERE session = sessions.id AND key = $%d AND value = $%d)", len(args)-1, len(args)))
	}
	if f.Unended {
		conditions = append(conditions, "sessions.id IN (SELECT session FROM turns WHERE status = 'running')")
	}
	if len(conditions) == 0 {
		return "", nil
	}
	return " WHERE " + strings.Join(conditions, " AND "), args
}

// Session returns a session, or ErrNoSession.
func (s *Store) Session(ctx context.Context, id string) (n sessions.Session, err error) {
	err = s.patiently(ctx, func() error {
		n, err = s.session(ctx, s.pool, id)
		return err
	})
	return n, err
}

func (s *Store) session(ctx context.Context, db querier, id string) (sessions.Session, error) {
	list, err := rowsIn(ctx, db, s.name, "read session "+id, scanSession, "SELECT "+sessionColumns+" FROM sessions WHERE name = $1", id)
	if err != nil {
		return sessions.Session{}, err
	}
	if len(list) == 0 {
		return sessions.Session{}, sessions.NoSession(id)
	}
	return list[0], nil
}

// Usage adds up the usage of the sessions that f chooses.
func (s *Store) Usage(ctx context.Context, f sessions.Filter) (sessions.Usage, error) {
	list, err := s.List(ctx, f)
	return sessions.UsageOf(list), err
}

// turnColumns are what scanTurn reads.
const turnColumns = `
	SELECT number, question.data, answer.data, winner, status, started, ended, turns.messages,
		turns.calls, turns.input_tokens, turns.output_tokens, turns.cached_tokens, turns.unknown_calls, turns.cost_usd,
		list.sha256, length(list.data), link.sha256, length(link.data)
	FROM sessions
	JOIN turns ON turns.session = sessions.id
	JOIN texts AS question ON question.sha256 = turns.question
	LEFT JOIN texts AS answer ON answer.sha256 = turns.answer
	LEFT JOIN texts AS list ON list.sha256 = turns.list
	LEFT JOIN texts AS link ON link.sha256 = turns.link
	WHERE sessions.name = $1`

func scanTurn(row pgx.CollectableRow) (t sessions.Turn, err error) {
	var question, answer []byte
	var ended *time.Time
	var list, link storedRef
	err = row.Scan(&t.Number, &question, &answer, &t.Winner, &t.Status, &t.Started, &ended, &t.MessageCount,
		&t.Usage.Calls, &t.Usage.InputTokens, &t.Usage.OutputTokens, &t.Usage.CachedInputTokens, &t.Usage.UnknownCalls, &t.Usage.CostUSD,
		&list.sum, &list.bytes, &link.sum, &link.bytes)
	t.Question, t.Answer, t.Started = string(question), string(answer), t.Started.UTC()
	if ended != nil {
		t.Ended = ended.UTC()
	}
	t.Usage = t.Usage.Plus(sessions.Usage{})
	t.Messages, t.Link = list.ref(), link.ref()
	return t, err
}

// Turns returns a session's last turns, oldest first: so many as last says, 0 for
// all. Those that have no answer, or never ended, are among them.
func (s *Store) Turns(ctx context.Context, id string, last int) (turns []sessions.Turn, err error) {
	err = s.patiently(ctx, func() error {
		turns, err = s.turns(ctx, s.pool, id, last)
		return err
	})
	return turns, err
}

func (s *Store) turns(ctx context.Context, db querier, id string, last int) ([]sessions.Turn, error) {
	turns, err := rowsIn(ctx, db, s.name, "read session "+id, scanTurn, turnColumns+" ORDER BY number DESC LIMIT $2", id, limited(last))
	if err == nil && len(turns) == 0 {
		err = sessions.NoSession(id)
	}
	slices.Reverse(turns)
	return turns, err
}

// History returns a session's turns that have an answer, oldest first. A session
// that is not there has none.
func (s *Store) History(ctx context.Context, id string) ([]sessions.Turn, error) {
	turns, err := s.Turns(ctx, id, 0)
	if errors.Is(err, sessions.ErrNoSession) {
		return nil, nil
	}
	return slices.DeleteFunc(turns, func(t sessions.Turn) bool { return t.Winner == "" }), err
}

// Interrupted returns the turn of a session that has begun, has not ended, and
// that nobody is at work on, in any process, or none.
func (s *Store) Interrupted(ctx context.Context, id string) ([]sessions.Turn, error) {
	turns, err := rowsOf(ctx, s, "read session "+id, scanTurn, turnColumns+`
		AND number = sessions.turns AND status = 'running'
		AND NOT EXISTS (SELECT 1 FROM holds WHERE name = $1 AND until > clock_timestamp())`, id)
	if err != nil || len(turns) > 0 {
		return turns, err
	}
	_, err = s.Session(ctx, id)
	return nil, err
}

// Journal returns the events of a turn in their order, and none of one that is
// not there.
func (s *Store) Journal(ctx context.Context, id string, turn int) (events [][]byte, err error) {
	err = s.patiently(ctx, func() error {
		events, err = s.journal(ctx, s.pool, id, turn)
		return err
	})
	return events, err
}

func (s *Store) journal(ctx context.Context, db querier, id string, turn int) ([][]byte, error) {
	return rowsIn(ctx, db, s.name, "read the journal of session "+id, pgx.RowTo[[]byte], `
		SELECT data FROM events
		WHERE turn = (SELECT turns.id FROM turns JOIN sessions ON sessions.id = turns.session WHERE name = $1 AND number = $2)
		ORDER BY place`, id, turn)
}
