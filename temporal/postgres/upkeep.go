package postgres

import (
	"cmp"
	"context"
	"fmt"

	"github.com/massgen/massgen/internal/storage/sqlstore"
)

// Check implements sessions.Backing. It looks for damage in texts that are not what their hashes say, in turns whose texts
// are gone or that no search can find, and in histories whose links do not lead to the first
// turn. It reads all there is. Of its files the server takes care itself.
func (s backing) Check(ctx context.Context) error {
	return cmp.Or(
		s.none(ctx, "SELECT left(encode(sha256, 'hex'), 12) FROM texts WHERE sha256 <> sha256(data) LIMIT 1", "the text %s is not what was stored"),
		s.none(ctx, "SELECT name FROM turns JOIN sessions ON sessions.id = session WHERE words IS NULL AND status <> 'running' LIMIT 1",
			"a turn of session %s is over, and no search finds it"),
		s.CheckRows(ctx, s.name),
	)
}

// none wants that a query finds nothing, and else says what is wrong with what it finds.
func (s backing) none(ctx context.Context, query, wrong string) error {
	bad, err := sqlstore.Rows(ctx, s.db, "check", sqlstore.Scan[string], query)
	if err == nil && len(bad) > 0 {
		err = fmt.Errorf("check: the store %s is damaged: "+wrong, s.name, bad[0])
	}
	return err
}

// Compact implements sessions.Backing. It forgets texts that nothing names and nobody can name any more, and has the server
// clean up after all that was deleted.
func (s backing) Compact(ctx context.Context) error {
	if err := s.DropLost(ctx); err != nil {
		return err
	}
	err := s.db.Forget(ctx, "compact", func(w *sqlstore.Tx) {
		w.Exec(`
			INSERT INTO fresh (text, put)
			SELECT sha256, 0 FROM texts WHERE NOT EXISTS (SELECT 1 FROM refs WHERE text = sha256)
			ON CONFLICT DO NOTHING`)
		sweep(w)
	})
	if err != nil {
		return err
	}
	_, err = s.pool.Exec(ctx, "VACUUM (ANALYZE) texts, fresh, sessions, metadata, turns, events, refs, holds, facts")
	return fault(s.name, "compact", err)
}
