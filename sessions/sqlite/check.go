package sqlite

import (
	"context"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/massgen/massgen/internal/storage/sqlstore"
	"github.com/massgen/massgen/sessions"
)

// Check implements sessions.Backing. It looks for damage in the file, in the search indexes, in texts that are
// not what their hashes say, and in histories whose links do not lead to the
// first turn. It reads all there is.
func (s backing) Check(ctx context.Context) error {
	if err := s.checkFile(ctx); err != nil {
		return err
	}
	err := s.db.Change(ctx, "check", func(w *sqlstore.Tx) {
		for _, index := range searchIndexes() {
			w.Exec(fmt.Sprintf("INSERT INTO %s (%s, rank) VALUES ('integrity-check', 1)", index, index))
		}
	})
	if err != nil {
		return err
	}
	return errors.Join(s.checkTexts(ctx), s.CheckRows(ctx, s.file.path))
}

// checkFile has SQLite look at the file. It does so on a connection of its own: on
// one that has searched before, an index that another connection has changed
// since is taken for damaged.
func (s backing) checkFile(ctx context.Context) (err error) {
	db, err := connect(s.file.path, patience, url.Values{"_query_only": {"1"}})
	if err != nil {
		return fault(s.file.path, "check", err)
	}
	defer func() { err = errors.Join(err, fault(s.file.path, "check", db.Close())) }()
	for _, pragma := range []string{"integrity_check", "foreign_key_check"} {
		found, err := sqlstore.Collect(ctx, db.QueryContext, scanFirst, "PRAGMA "+pragma)
		if err != nil {
			return fault(s.file.path, "check", err)
		}
		if len(found) > 1 || len(found) == 1 && found[0] != "ok" {
			first := strings.Join(strings.Fields(found[0]), " ")
			return fmt.Errorf("check: the store %s is damaged (%s, and %d more): put a copy from before in its place", s.file.path, first, len(found)-1)
		}
	}
	return nil
}

// scanFirst reads the first column.
func scanFirst(rows *sql.Rows) (first string, err error) {
	columns, err := rows.Columns()
	if err != nil {
		return "", err
	}
	to := make([]any, len(columns))
	to[0] = &first
	for i := range to[1:] {
		to[i+1] = new(any)
	}
	return first, rows.Scan(to...)
}

func (s backing) checkTexts(ctx context.Context) error {
	bad, err := sqlstore.Rows(ctx, s.db, "check", func(rows *sql.Rows) (bad string, err error) {
		var sum, data []byte
		if err := rows.Scan(&sum, &data); err != nil {
			return "", err
		}
		if kept := hex.EncodeToString(sum); kept != sessions.RefOf(data).SHA256 {
			return kept, nil
		}
		return "", nil
	}, "SELECT sha256, data FROM texts")
	for _, sum := range bad {
		if sum != "" {
			return fmt.Errorf("check: the store %s is damaged: the text %.12s is not what was stored", s.file.path, sum)
		}
	}
	return err
}
