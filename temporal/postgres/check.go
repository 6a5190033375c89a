package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/massgen/massgen/sessions"
)

// Check looks for damage: in texts that are not what their hashes say, in turns whose
// texts are gone or that no search can find, and in histories whose links do not lead to
// the first turn. It reads all there is. Of its files the server takes care itself.
func (s *Store) Check(ctx context.Context) error {
	return errors.Join(s.checkTexts(ctx), s.checkNames(ctx), s.checkWords(ctx), s.checkHistories(ctx))
}

func (s *Store) checkTexts(ctx context.Context) error {
	bad, err := rowsOf(ctx, s, "check", pgx.RowTo[string], "SELECT encode(sha256, 'hex') FROM texts WHERE sha256 <> sha256(data) LIMIT 1")
	if err == nil && len(bad) > 0 {
		err = fmt.Errorf("check: the store %s is damaged: the text %.12s is not what was stored", s.name, bad[0])
	}
	return err
}

// checkNames looks for turns that need a text, by their columns, and do not keep it.
func (s *Store) checkNames(ctx context.Context) error {
	bad, err := rowsOf(ctx, s, "check", pgx.RowTo[string], `
		SELECT name FROM turns JOIN sessions ON sessions.id = session, unnest(ARRAY[question, answer, list, link]) AS needed
		WHERE needed IS NOT NULL AND NOT EXISTS (SELECT 1 FROM refs WHERE turn = turns.id AND text = needed) LIMIT 1`)
	if err == nil && len(bad) > 0 {
		err = fmt.Errorf("check: the store %s is damaged: a turn of session %s does not keep its texts", s.name, bad[0])
	}
	return err
}

// checkWords looks for turns that are over, and that Search does not know.
func (s *Store) checkWords(ctx context.Context) error {
	bad, err := rowsOf(ctx, s, "check", pgx.RowTo[string],
		"SELECT name FROM turns JOIN sessions ON sessions.id = session WHERE words IS NULL AND status <> 'running' LIMIT 1")
	if err == nil && len(bad) > 0 {
		err = fmt.Errorf("check: the store %s is damaged: a turn of session %s is over, and no search finds it", s.name, bad[0])
	}
	return err
}

// checkHistories follows each session's chain, which must have its answered turns.
func (s *Store) checkHistories(ctx context.Context) error {
	type session struct {
		id       string
		head     storedRef
		answered int
	}
	list, err := rowsOf(ctx, s, "check", func(row pgx.CollectableRow) (n session, err error) {
		err = row.Scan(&n.id, &n.head.sum, &n.head.bytes, &n.answered)
		return n, err
	}, `SELECT name, sha256, length(data), (SELECT count(link) FROM turns WHERE session = sessions.id)
		FROM sessions LEFT JOIN texts ON sha256 = head`)
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
