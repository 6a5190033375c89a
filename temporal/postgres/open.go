package postgres

import (
	"context"
	"crypto/rand"
	"fmt"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/massgen/massgen/internal/storage/sqlstore"
)

// oldestServer is the oldest version of PostgreSQL that the statements are for.
const oldestServer = 12

// creation is the lock of whoever makes a store, or brings one up to date: "mass" as a
// big-endian number. There is no table yet whose number could be taken.
const creation = 0x6d617373

// prepare makes the store if it is not there, and brings an old one up to date. One
// that is newer, and what is no store, is refused.
func (s *server) prepare(ctx context.Context, schema string) error {
	conn, err := s.pool.Acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release()
	if err := suits(conn.Conn()); err != nil {
		return err
	}
	version, err := versionOf(ctx, conn.Conn(), schema)
	if err == nil && version != sqlstore.Version {
		err = pgx.BeginFunc(ctx, conn.Conn(), func(tx pgx.Tx) error { return migrate(ctx, tx, schema) })
	}
	if err != nil {
		return err
	}
	return conn.QueryRow(ctx, "SELECT id FROM massgen_store").Scan(&s.database)
}

// suits says what is wrong with a server for a store.
func suits(conn *pgx.Conn) error {
	version := conn.PgConn().ParameterStatus("server_version")
	major, _, _ := strings.Cut(version, ".")
	if n, err := strconv.Atoi(major); err == nil && n < oldestServer {
		return fmt.Errorf("%w: its server is PostgreSQL %s, and %d is the oldest that will do: update it", errUnsuited, version, oldestServer)
	}
	if encoding := conn.PgConn().ParameterStatus("server_encoding"); encoding != "UTF8" {
		return fmt.Errorf("%w: its encoding is %s: make one with ENCODING 'UTF8'", errUnsuited, encoding)
	}
	return nil
}

// querier is a connection, a pool of them or a transaction.
type querier interface {
	Query(ctx context.Context, query string, args ...any) (pgx.Rows, error)
	QueryRow(ctx context.Context, query string, args ...any) pgx.Row
}

// versionOf returns the version of the store in a schema, 0 if that is not there or
// empty, and an error if it has something else in it.
func versionOf(ctx context.Context, db querier, schema string) (version int, err error) {
	var tables int
	var isStore bool
	err = db.QueryRow(ctx, `
		SELECT count(*), count(*) FILTER (WHERE relname = 'massgen_store') = 1
		FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace WHERE nspname = $1`, schema,
	).Scan(&tables, &isStore)
	switch {
	case err != nil || tables == 0:
		return 0, err
	case !isStore:
		return 0, fmt.Errorf("%w: its schema %s has other tables: name another as search_path", errUnsuited, schema)
	}
	if err := db.QueryRow(ctx, "SELECT coalesce(max(version), 0) FROM massgen_store").Scan(&version); err != nil {
		return 0, err
	}
	if version < 1 { // no store was ever without one
		return 0, fmt.Errorf("%w (its version is %d)", errDamaged, version)
	}
	return version, nil
}

// migrate brings a store up to date. If another program is doing so, migrate waits until that has ended.
func migrate(ctx context.Context, tx pgx.Tx, schema string) error {
	if _, err := tx.Exec(ctx, "SELECT pg_advisory_xact_lock($1)", creation); err != nil {
		return err
	}
	version, err := versionOf(ctx, tx, schema)
	if err != nil {
		return err
	}
	if version > sqlstore.Version {
		return fmt.Errorf("%w (it has version %d, and this one knows %d)", errNewer, version, sqlstore.Version)
	}
	if version == 0 {
		// An administrator can make an empty schema for a user who has no right to make one.
		var there bool
		if err := tx.QueryRow(ctx, "SELECT to_regnamespace($1) IS NOT NULL", schema).Scan(&there); err != nil {
			return err
		}
		if !there {
			if _, err := tx.Exec(ctx, "CREATE SCHEMA "+schema); err != nil {
				return fmt.Errorf("make the schema %s: %w", schema, err)
			}
		}
	}
	err = steps().Apply(dialect(""), version, sqlstore.Version, func(statements string) error {
		_, err := tx.Exec(ctx, statements)
		return err
	})
	if err != nil {
		return err
	}
	if err := addMissingWords(ctx, tx); err != nil {
		return fmt.Errorf("keep the words of turns that were given up: %w", err)
	}
	_, err = tx.Exec(ctx, `
		WITH old AS (DELETE FROM massgen_store RETURNING id)
		INSERT INTO massgen_store (version, id) SELECT $1, coalesce((SELECT id FROM old), $2)`, sqlstore.Version, rand.Text())
	return err
}

// addMissingWords lets Search find the turns that were given up in stores of versions 1 and 2,
// which kept no words of them.
func addMissingWords(ctx context.Context, tx pgx.Tx) error {
	rows, err := tx.Query(ctx, `
		SELECT turns.id, data FROM turns JOIN texts ON sha256 = question WHERE words IS NULL AND status <> 'running'`)
	if err != nil {
		return err
	}
	type turn struct {
		ID   int64
		Data []byte
	}
	turns, err := pgx.CollectRows(rows, pgx.RowToStructByPos[turn])
	if err != nil {
		return err
	}
	for _, t := range turns {
		if _, err := tx.Exec(ctx, "UPDATE turns SET words = $2::tsvector WHERE id = $1", t.ID, vector(string(t.Data), "")); err != nil {
			return err
		}
	}
	return nil
}
