package sqlstore

import (
	"context"
	"database/sql"

	"github.com/massgen/massgen/sessions"
)

// Search returns where the words of a query are: in titles, and in questions and answers, of
// the sessions first that were used last. limit is how many hits are wanted at most; 0: all.
func (s *Store) Search(ctx context.Context, query string, limit int) ([]sessions.Hit, error) {
	q := sessions.ParseQuery(query)
	wanted := s.match(q)
	if wanted == "" {
		return []sessions.Hit{}, ctx.Err()
	}
	statement, args := s.db.Search+" ORDER BY updated DESC, name, turn", []any{wanted}
	if limit > 0 {
		statement, args = statement+" LIMIT $2", append(args, limit)
	}
	return Rows(ctx, s.db, "search", func(rows *sql.Rows) (h sessions.Hit, err error) {
		var first, second []byte
		err = rows.Scan(&h.Session, &h.Title, &h.Turn, &first, &second)
		if h.Snippet = h.Title; h.Turn > 0 {
			h.Snippet = s.db.Snippet(q, first, second)
		}
		return h, err
	}, statement, args...)
}

// match returns a query in the database's own language, "" for one that can find nothing.
func (s *Store) match(q sessions.Query) string {
	if len(q) == 0 {
		return ""
	}
	return s.db.Match(q)
}

const factsOf = "SELECT facts.id, facts.owner, facts.text, facts.created FROM facts WHERE facts.owner = $1"

func scanFact(rows *sql.Rows) (f sessions.Fact, err error) {
	var created stamp
	err = rows.Scan(&f.ID, &f.User, &f.Text, &created)
	f.Created = created.Time
	return f, err
}

// AddFact remembers something of a user; user may be empty, for whoever uses this machine. A
// fact that is known already is returned as it is.
func (s *Store) AddFact(ctx context.Context, user, text string) (f sessions.Fact, err error) {
	if err := sessions.CheckFact(user, text); err != nil {
		return f, err
	}
	err = s.db.Change(ctx, "remember a fact", func(w *Tx) {
		var created stamp
		isKnown := func() bool {
			return w.Row("SELECT id, created FROM facts WHERE owner = $1 AND text = $2", []any{user, text}, &f.ID, &created)
		}
		if !isKnown() {
			id := w.ID(`
				INSERT INTO facts (owner, text, created{fact_hash}) VALUES ($1, $2, {now}{hash_of_2})
				ON CONFLICT DO NOTHING RETURNING id`, user, text) // another process may have added it just now
			if id != 0 {
				w.index("facts", Indexed{id, []string{text}})
			}
			isKnown()
		}
		f.User, f.Text, f.Created = user, text, created.Time
	})
	return f, err
}

// Facts returns what is remembered of a user, oldest first.
func (s *Store) Facts(ctx context.Context, user string) ([]sessions.Fact, error) {
	return Rows(ctx, s.db, "read the facts", scanFact, factsOf+" ORDER BY id", user)
}

// SearchFacts returns what is remembered of a user and has the words of a query, oldest first.
func (s *Store) SearchFacts(ctx context.Context, user, query string) ([]sessions.Fact, error) {
	wanted := s.match(sessions.ParseQuery(query))
	if wanted == "" {
		return []sessions.Fact{}, ctx.Err()
	}
	return Rows(ctx, s.db, "search the facts", scanFact, factsOf+" AND "+s.db.SearchFacts+" ORDER BY id", user, wanted)
}

// Forget forgets a fact, or returns ErrNoFact.
func (s *Store) Forget(ctx context.Context, id int64) error {
	return s.db.Change(ctx, "forget a fact", func(w *Tx) {
		if w.Exec("DELETE FROM facts WHERE id = $1", id) == 0 {
			w.Refuse(sessions.NoFact(id))
		}
	})
}
