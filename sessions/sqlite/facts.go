package sqlite

import (
	"context"
	"database/sql"
	"time"

	"github.com/massgen/massgen/sessions"
)

const factColumns = "facts.id, facts.user, facts.text, facts.created"

func scanFact(rows *sql.Rows) (f sessions.Fact, err error) {
	var created int64
	err = rows.Scan(&f.ID, &f.User, &f.Text, &created)
	f.Created = timeOf(created)
	return f, err
}

// AddFact remembers something of a user; user may be empty, for whoever uses this
// machine. A fact that is known already is returned as it is.
func (s *Store) AddFact(ctx context.Context, user, text string) (f sessions.Fact, err error) {
	if err := sessions.CheckFact(user, text); err != nil {
		return f, err
	}
	err = s.change(ctx, "remember a fact", func(w *writer) {
		created := time.Now().UnixMilli()
		if !w.row("SELECT id, created FROM facts WHERE user = ? AND text = ?", []any{user, text}, &f.ID, &created) {
			f.ID = w.id("INSERT INTO facts (user, text, created) VALUES (?, ?, ?) RETURNING id", user, text, created)
		}
		f.User, f.Text, f.Created = user, text, timeOf(created)
	})
	return f, err
}

// Facts returns what is remembered of a user, oldest first.
func (s *Store) Facts(ctx context.Context, user string) ([]sessions.Fact, error) {
	return rowsOf(ctx, s, "read the facts", scanFact, "SELECT "+factColumns+" FROM facts WHERE user = ? ORDER BY id", user)
}

// SearchFacts returns what is remembered of a user and has the words of a query,
// oldest first.
func (s *Store) SearchFacts(ctx context.Context, user, query string) ([]sessions.Fact, error) {
	q := sessions.ParseQuery(query)
	if len(q) == 0 {
		return []sessions.Fact{}, ctx.Err()
	}
	return rowsOf(ctx, s, "search the facts", scanFact,
		"SELECT "+factColumns+" FROM fact_search JOIN facts ON facts.id = fact_search.rowid WHERE fact_search MATCH ? AND user = ? ORDER BY facts.id",
		match(q), user)
}

// Forget forgets a fact, or returns ErrNoFact.
func (s *Store) Forget(ctx context.Context, id int64) error {
	err := s.change(ctx, "forget a fact", func(w *writer) {
		if w.exec("DELETE FROM facts WHERE id = ?", id) == 0 {
			w.refuse(sessions.NoFact(id))
		}
	})
	if err != nil {
		return err
	}
	return s.emptyLog(ctx)
}
