package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/massgen/massgen/sessions"
)

// CheckRows looks for damage that no database can see: turns that do not keep their texts, and
// histories whose links do not lead to the first turn. name is the store's name.
func (s *Store) CheckRows(ctx context.Context, name string) error {
	return errors.Join(s.checkNames(ctx, name), s.checkHistories(ctx))
}

// checkNames looks for turns whose columns name a text that the turns do not keep.
func (s *Store) checkNames(ctx context.Context, store string) error {
	bad, err := Rows(ctx, s.db, "check", Scan[string], `
		SELECT name FROM sessions JOIN (
			SELECT session, id, question AS needed FROM turns
			UNION ALL SELECT session, id, answer FROM turns
			UNION ALL SELECT session, id, list FROM turns
			UNION ALL SELECT session, id, link FROM turns
		) AS needs ON sessions.id = session
		WHERE needed IS NOT NULL AND NOT EXISTS (SELECT 1 FROM refs WHERE turn = needs.id AND text = needed) LIMIT 1`)
	if err == nil && len(bad) > 0 {
		err = fmt.Errorf("check: the store %s is damaged: a turn of session %s does not keep its texts", store, bad[0])
	}
	return err
}

// checkHistories follows each session's chain, which must contain its answered turns.
func (s *Store) checkHistories(ctx context.Context) error {
	type session struct {
		id       string
		head     storedRef
		answered int
	}
	list, err := Rows(ctx, s.db, "check", func(rows *sql.Rows) (n session, err error) {
		err = rows.Scan(&n.id, &n.head.sum, &n.head.bytes, &n.answered)
		return n, err
	}, `SELECT name, sha256, length(data), (SELECT count(link) FROM turns WHERE session = sessions.id)
		FROM sessions LEFT JOIN texts ON texts.{key} = head WHERE `+isShown)
	if err != nil {
		return err
	}
	for _, n := range list {
		if err := sessions.CheckHistory(ctx, s, n.id, n.head.ref(), n.answered); err != nil {
			return err
		}
	}
	return nil
}
