package postgres

import (
	"context"
	"database/sql"

	"github.com/massgen/massgen/internal/storage/sqlstore"
)

// KeepResults stores results of effects of a running turn, by the effects' keys, until the session
// is released, and texts as PutAll does, all or none. It returns the results that stand: of several
// results under one key the first.
func (s *Store) KeepResults(ctx context.Context, id string, turn int, results map[string][]byte, texts [][]byte) (stand map[string][]byte, err error) {
	var keys []string
	var list [][]byte
	for key, result := range results {
		keys, list = append(keys, key), append(list, s.Mask(result))
	}
	err = s.owner.db.Change(ctx, "keep results of session "+id, func(w *sqlstore.Tx) {
		put(w, masked(s, texts)...)
		if !s.owner.isHolder(w, id, turn) {
			s.owner.notMine(w, id, turn)
			return
		}
		w.Exec(`
			INSERT INTO results (session, turn, key, data)
			SELECT $1, $2, key, data FROM unnest($3::text[], $4::bytea[]) AS list (key, data) ORDER BY key
			ON CONFLICT DO NOTHING`, id, turn, keys, list)
		stand = byKey(sqlstore.List(w, scanResult, resultsOf, id, turn, keys))
	})
	return stand, err
}

// Results returns the results that KeepResults has stored under keys, and whether this owner holds
// the session for the turn.
func (s *Store) Results(ctx context.Context, id string, turn int, keys []string) (stand map[string][]byte, held bool, err error) {
	list, err := sqlstore.Rows(ctx, s.owner.db, "look for results of session "+id, scanResult, `
		SELECT '', ''::bytea FROM holds WHERE name = $1 AND turn = $2 AND owner = $4 UNION ALL `+resultsOf, id, turn, keys, s.owner.id)
	stand = byKey(list)
	_, held = stand[""]
	delete(stand, "")
	return stand, held, err
}

const resultsOf = "SELECT key, data FROM results WHERE session = $1 AND turn = $2 AND key = ANY($3::text[])"

// keptResult is a row of a result. No key is empty.
type keptResult struct {
	key  string
	data []byte
}

func scanResult(rows *sql.Rows) (r keptResult, err error) {
	err = rows.Scan(&r.key, &r.data)
	return r, err
}

func byKey(list []keptResult) map[string][]byte {
	found := make(map[string][]byte, len(list))
	for _, r := range list {
		found[r.key] = r.data
	}
	return found
}
