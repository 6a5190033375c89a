package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/massgen/massgen/sessions"
)

// rowsOf runs a query and returns what scan makes of each row.
func rowsOf[T any](ctx context.Context, s *Store, what string, scan func(*sql.Rows) (T, error), query string, args ...any) ([]T, error) {
	return rowsIn(ctx, s.read, s.path, what, scan, query, args...)
}

// querier is a database or a transaction.
type querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

func rowsIn[T any](ctx context.Context, db querier, path, what string, scan func(*sql.Rows) (T, error), query string, args ...any) (list []T, err error) {
	rows, err := db.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, fault(path, what, err)
	}
	defer func() { err = errors.Join(err, fault(path, what, rows.Close())) }()
	list = []T{}
	for rows.Next() {
		item, err := scan(rows)
		if err != nil {
			return nil, fault(path, what, err)
		}
		list = append(list, item)
	}
	return list, fault(path, what, rows.Err())
}

// sessionColumns are what scanSession reads.
const sessionColumns = `sessions.name, title, parent, parent_turn, created, updated, turns, messages,
	calls, input_tokens, output_tokens, cached_tokens, unknown_calls, cost_usd,
	(SELECT json_group_object(key, value) FROM metadata WHERE session = sessions.id)`

func scanSession(rows *sql.Rows) (n sessions.Session, err error) {
	var created, updated int64
	var metadata string
	err = rows.Scan(&n.ID, &n.Title, &n.Parent, &n.ParentTurn, &created, &updated, &n.Turns, &n.Messages,
		&n.Usage.Calls, &n.Usage.InputTokens, &n.Usage.OutputTokens, &n.Usage.CachedInputTokens, &n.Usage.UnknownCalls, &n.Usage.CostUSD,
		&metadata)
	if err != nil {
		return n, err
	}
	n.Created, n.Updated = timeOf(created), timeOf(updated)
	n.Usage = n.Usage.Plus(sessions.Usage{})
	n.Metadata, err = metadataOf(metadata)
	return n, err
}

func timeOf(ms int64) time.Time { return time.UnixMilli(ms).UTC() }

// List returns the sessions that f chooses, those first that were used last.
func (s *Store) List(ctx context.Context, f sessions.Filter) ([]sessions.Session, error) {
	where, args := chosen(f)
	query := "SELECT " + sessionColumns + " FROM sessions" + where + " ORDER BY updated DESC, sessions.name"
	if f.Limit > 0 {
		query, args = query+" LIMIT ?", append(args, f.Limit)
	}
	return rowsOf(ctx, s, "list the sessions", scanSession, query, args...)
}

// chosen returns the condition of a filter.
func chosen(f sessions.Filter) (where string, args []any) {
	var conditions []string
	for key, value := range f.Metadata {
		conditions = append(conditions, "EXISTS (SELECT 1 FROM metadata WHERE session = sessions.id AND key = ? AND value = ?)")
		args = append(args, key, value)
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
func (s *Store) Session(ctx context.Context, id string) (sessions.Session, error) {
	return s.session(ctx, s.read, id)
}

func (s *Store) session(ctx context.Context, db querier, id string) (sessions.Session, error) {
	list, err := rowsIn(ctx, db, s.path, "read session "+id, scanSession, "SELECT "+sessionColumns+" FROM sessions WHERE name = ?", id)
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

const turnsQuery = `
	SELECT number, question.data, answer.data, winner, status, started, ended, turns.messages,
		turns.calls, turns.input_tokens, turns.output_tokens, turns.cached_tokens, turns.unknown_calls, turns.cost_usd,
		list.sha256, length(list.data), link.sha256, length(link.data)
	FROM sessions
	JOIN turns ON turns.session = sessions.id
	JOIN texts AS question ON question.id = turns.question
	LEFT JOIN texts AS answer ON answer.id = turns.answer
	LEFT JOIN texts AS list ON list.id = turns.list
	LEFT JOIN texts AS link ON link.id = turns.link
	WHERE sessions.name = ?
	ORDER BY number DESC LIMIT ?`

func scanTurn(rows *sql.Rows) (t sessions.Turn, err error) {
	var question, answer []byte
	var started int64
	var ended sql.NullInt64
	var list, link storedRef
	err = rows.Scan(&t.Number, &question, &answer, &t.Winner, &t.Status, &started, &ended, &t.MessageCount,
		&t.Usage.Calls, &t.Usage.InputTokens, &t.Usage.OutputTokens, &t.Usage.CachedInputTokens, &t.Usage.UnknownCalls, &t.Usage.CostUSD,
		&list.sum, &list.bytes, &link.sum, &link.bytes)
	t.Question, t.Answer, t.Started = string(question), string(answer), timeOf(started)
	if ended.Valid {
		t.Ended = timeOf(ended.Int64)
	}
	t.Usage = t.Usage.Plus(sessions.Usage{})
	t.Messages, t.Link = list.ref(), link.ref()
	return t, err
}

// Turns returns a session's last turns, oldest first: so many as last says, 0 for
// all. Those that have no answer, or never ended, are among them.
func (s *Store) Turns(ctx context.Context, id string, last int) ([]sessions.Turn, error) {
	return s.turns(ctx, s.read, id, last)
}

func (s *Store) turns(ctx context.Context, db querier, id string, last int) ([]sessions.Turn, error) {
	if last <= 0 {
		last = -1 // SQL's "all"
	}
	turns, err := rowsIn(ctx, db, s.path, "read session "+id, scanTurn, turnsQuery, id, last)
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
	last, err := s.Turns(ctx, id, 1)
	if err != nil || last[0].Status != sessions.Running {
		return nil, err
	}
	lock, err := s.hold(ctx, id)
	if errors.Is(err, sessions.ErrBusy) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	// While nobody holds the session it does not change: what was read before may
	// have ended meanwhile.
	last, err = s.Turns(ctx, id, 1)
	if err == nil && last[0].Status != sessions.Running {
		last = nil
	}
	return last, errors.Join(err, fault(s.path, "unlock session "+id, lock.release()))
}

// Journal returns the events of a turn in their order, and none of one that is
// not there.
func (s *Store) Journal(ctx context.Context, id string, turn int) ([][]byte, error) {
	return s.journal(ctx, s.read, id, turn)
}

func (s *Store) journal(ctx context.Context, db querier, id string, turn int) ([][]byte, error) {
	return rowsIn(ctx, db, s.path, "read the journal of session "+id, scanBytes, `
		SELECT data FROM events
		WHERE turn = (SELECT turns.id FROM turns JOIN sessions ON sessions.id = turns.session WHERE name = ? AND number = ?)
		ORDER BY id`, id, turn)
}

func scanBytes(rows *sql.Rows) (data []byte, err error) {
	err = rows.Scan(&data)
	return data, err
}
