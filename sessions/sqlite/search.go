package sqlite

import (
	"context"
	"database/sql"
	"strings"

	"github.com/massgen/massgen/sessions"
)

// match returns a query in the language of FTS5. Its words are letters and digits
// only, so nothing in it can be taken for syntax.
func match(q sessions.Query) string {
	phrases := make([]string, len(q))
	for i, p := range q {
		phrases[i] = `"` + strings.Join(p.Words, " ") + `"`
		if p.Prefix {
			phrases[i] += "*"
		}
	}
	return strings.Join(phrases, " ")
}

// Search returns where the words of a query are: in titles, and in questions and
// answers, of the sessions first that were used last. limit is how many hits are
// wanted at most; 0: all.
func (s *Store) Search(ctx context.Context, query string, limit int) ([]sessions.Hit, error) {
	q := sessions.ParseQuery(query)
	if len(q) == 0 {
		return []sessions.Hit{}, ctx.Err()
	}
	if limit <= 0 {
		limit = -1 // SQL's "all"
	}
	return rowsOf(ctx, s, "search", scanHit, `
		SELECT name, title, turn, snippet FROM (
			SELECT rowid AS session, 0 AS turn, title AS snippet
			FROM title_search WHERE title_search MATCH :query
			UNION ALL
			SELECT turns.session, turns.number, snippet(turn_search, -1, '', '', '…', 24)
			FROM turn_search JOIN turns ON turns.id = turn_search.rowid WHERE turn_search MATCH :query
		) JOIN sessions ON sessions.id = session
		ORDER BY updated DESC, name, turn LIMIT :limit`,
		sql.Named("query", match(q)), sql.Named("limit", limit))
}

func scanHit(rows *sql.Rows) (h sessions.Hit, err error) {
	err = rows.Scan(&h.Session, &h.Title, &h.Turn, &h.Snippet)
	return h, err
}
