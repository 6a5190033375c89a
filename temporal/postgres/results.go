package postgres

import (
	"context"

	"github.com/massgen/massgen/internal/storage/sqlstore"
)

// KeepResult keeps what an effect of a running turn came to, until the session is let go of,
// and returns what stands there: of several results the first.
func (s *Store) KeepResult(ctx context.Context, id string, turn int, key string, result []byte) (stands []byte, err error) {
	result = s.Mask(result)
	err = s.owner.db.Change(ctx, "keep a result of session "+id, func(w *sqlstore.Tx) {
		s.owner.mine(w, id, turn)
		w.Exec("INSERT INTO results VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING", id, turn, key, result)
		w.Row("SELECT data FROM results WHERE session = $1 AND turn = $2 AND key = $3", []any{id, turn, key}, &stands)
	})
	return stands, err
}

// Result returns what KeepResult has kept, nil if that is nothing.
func (s *Store) Result(ctx context.Context, id string, turn int, key string) ([]byte, error) {
	found, err := sqlstore.Rows(ctx, s.owner.db, "look for a result of session "+id, sqlstore.Scan[[]byte],
		"SELECT data FROM results WHERE session = $1 AND turn = $2 AND key = $3", id, turn, key)
	if err != nil || len(found) == 0 {
		return nil, err
	}
	return found[0], nil
}
