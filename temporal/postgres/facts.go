package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/massgen/massgen/sessions"
)

const factsOf = "SELECT id, owner, text, created FROM facts WHERE owner = $1"

func scanFact(row pgx.CollectableRow) (f sessions.Fact, err error) {
	err = row.Scan(&f.ID, &f.User, &f.Text, &f.Created)
	f.Created = f.Created.UTC()
	return f, err
}

// AddFact remembers something of a user; user may be empty, for whoever uses this
// machine. A fact that is known already is returned as it is.
func (s *Store) AddFact(ctx context.Context, user, text string) (f sessions.Fact, err error) {
	if err := sessions.CheckFact(user, text); err != nil {
		return f, err
	}
	err = s.change(ctx, "remember a fact", func(w *writer) {
		f = sessions.Fact{User: user, Text: text}
		sum := sumOf(sessions.RefOf([]byte(text)))
		known := func() bool {
			return w.row("SELECT id, created FROM facts WHERE owner = $1 AND sha256 = $2", []any{user, sum}, &f.ID, &f.Created)
		}
		if !known() {
			w.exec(`
				INSERT INTO facts (owner, text, sha256, words, created) VALUES ($1, $2, $3, $4::tsvector, `+now+`)
				ON CONFLICT DO NOTHING`, user, text, sum, vector(text)) // somebody else may have added it just now
			known()
		}
		f.Created = f.Created.UTC()
	})
	return f, err
}

// Facts returns what is remembered of a user, oldest first.
func (s *Store) Facts(ctx context.Context, user string) ([]sessions.Fact, error) {
	return rowsOf(ctx, s, "read the facts", scanFact, factsOf+" ORDER BY id", user)
}

// SearchFacts returns what is remembered of a user and has the words of a query,
// oldest first.
func (s *Store) SearchFacts(ctx context.Context, user, query string) ([]sessions.Fact, error) {
	wanted := match(sessions.ParseQuery(query))
	if wanted == "" {
		return []sessions.Fact{}, ctx.Err()
	}
	return rowsOf(ctx, s, "search the facts", scanFact, factsOf+" AND words @@ $2::tsquery ORDER BY id", user, wanted)
}

// Forget forgets a fact, or returns ErrNoFact.
func (s *Store) Forget(ctx context.Context, id int64) error {
	return s.change(ctx, "forget a fact", func(w *writer) {
		if w.exec("DELETE FROM facts WHERE id = $1", id) == 0 {
			w.refuse(sessions.NoFact(id))
		}
	})
}
