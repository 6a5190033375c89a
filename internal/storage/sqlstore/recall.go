package sqlstore

import (
	"context"
	"database/sql"

	"github.com/massgen/massgen/sessions"
)

// Search implements sessions.Backing.
func (s *Store) Search(ctx context.Context, q sessions.Query, f sessions.Filter) ([]sessions.Hit, error) {
	wanted := s.db.Match(q)
	if wanted == "" {
		return []sessions.Hit{}, ctx.Err()
	}
	statement, args := s.db.searchQuery(wanted, f)
	return Rows(ctx, s.db, "search", func(rows *sql.Rows) (h sessions.Hit, err error) {
		var updated stamp
		var first, second []byte
		err = rows.Scan(&h.Session, &h.Title, &updated, &h.Turn, &first, &second)
		h.Updated = updated.Time
		if h.Snippet = h.Title; h.Turn > 0 {
			h.Snippet = s.db.Snippet(q, first, second)
		}
		return h, err
	}, statement, args...)
}

// searchQuery returns the query of a search. It reads the texts of the hits that it returns, and of no others.
func (d Dialect) searchQuery(wanted string, f sessions.Filter) (statement string, args []any) {
	c := d.chosen(f, wanted)
	if f.After != (sessions.Place{}) {
		used, id, turn := c.arg(d.Time(f.After.Used)), c.arg(f.After.Session), c.arg(f.After.Turn)
		c.add("sessions.updated <= " + used + " AND (sessions.updated < " + used +
			" OR sessions.name > " + id + " OR sessions.name = " + id + " AND hits.turn > " + turn + ")")
	}
	const order = " ORDER BY updated DESC, name, turn"
	page := "SELECT sessions.name, title, sessions.updated, hits.turn, hits.id FROM (" + d.Search + ") AS hits JOIN sessions ON sessions.id = hits.session" +
		c.where() + order + c.limit(f.Limit)
	return "SELECT name, title, updated, turn, " + d.Found + " FROM (" + page + ") AS page" + order, c.args
}

const factsOf = "SELECT facts.id, facts.owner, facts.text, facts.created FROM facts WHERE facts.owner = $1"

func scanFact(rows *sql.Rows) (f sessions.Fact, err error) {
	var created stamp
	err = rows.Scan(&f.ID, &f.User, &f.Text, &created)
	f.Created = created.Time
	return f, err
}

// AddFact implements sessions.Backing.
func (s *Store) AddFact(ctx context.Context, user, text string) (f sessions.Fact, err error) {
	err = s.db.Change(ctx, "remember a fact", func(w *Tx) {
		var created stamp
		isKnown := func() bool {
			return w.Row("SELECT id, created FROM facts WHERE owner = $1 AND text = $2", []any{user, text}, &f.ID, &created)
		}
		if !isKnown() {
			id := w.ID(`
				INSERT INTO facts (owner, text, created{fact_hash}) VALUES ($1, $2, {now}{hash_of_2})
				ON CONFLICT DO NOTHING RETURNING id`, user, text) // another process may have added the fact just now
			if id != 0 {
				w.index("facts", Indexed{id, []string{text}})
			}
			isKnown()
		}
		f.User, f.Text, f.Created = user, text, created.Time
	})
	return f, err
}

// Facts implements sessions.Backing.
func (s *Store) Facts(ctx context.Context, user string, q sessions.Query) ([]sessions.Fact, error) {
	query, args := factsOf+" ORDER BY id", []any{user}
	if q == nil {
		return Few(ctx, s.db, "read the facts", scanFact, query, args...)
	}
	query, args = factsOf+" AND "+s.db.SearchFacts+" ORDER BY id", append(args, s.db.Match(q))
	if args[1] == "" {
		return []sessions.Fact{}, ctx.Err()
	}
	return Rows(ctx, s.db, "search the facts", scanFact, query, args...)
}

// Forget implements sessions.Backing.
func (s *Store) Forget(ctx context.Context, id int64) error {
	return s.db.Change(ctx, "forget a fact", func(w *Tx) {
		if w.Exec("DELETE FROM facts WHERE id = $1", id) == 0 {
			w.Refuse(sessions.NoFact(id))
		}
	})
}
