package postgres

import (
	"context"
	"crypto/rand"
	"fmt"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/massgen/massgen/internal/storage/sqlstore"
	"github.com/massgen/massgen/internal/system/sleep"
)

// oldestServer is the oldest version of PostgreSQL that the statements are for.
const oldestServer = 12

// creation is the lock of whoever makes a store, or brings one up to date: "mass" as a
// big-endian number. There is no table yet whose number could be taken.
const creation = 0x6d617373

// prepare sets up a store in a schema that is not there or is empty, and leaves a store as it
// is: Migrate upgrades one. It refuses a store of a version with which this program does not
// work, and a schema with something else in it.
func (s *server) prepare(ctx context.Context, schema string) error {
	conn, err := s.pool.Acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release()
	if err := suits(conn.Conn()); err != nil {
		return err
	}
	if s.use.Pooler {
		if err := checkSchema(ctx, conn.Conn(), schema); err != nil {
			return err
		}
	}
	version, err := versionOf(ctx, conn.Conn(), schema)
	if err == nil && version == 0 {
		var isNew bool
		if version, isNew, err = setUpAlone(ctx, conn.Conn(), schema); isNew && err == nil && s.use.Made != nil {
			s.use.Made(s.name)
		}
	}
	if err == nil {
		err = checkVersion(version)
	}
	if err != nil {
		return err
	}
	return conn.QueryRow(ctx, "SELECT id FROM massgen_store").Scan(&s.database)
}

// checkVersion returns an error for a store of a version with which this program does not work.
func checkVersion(version int) error {
	switch oldest, newest := steps().Window(sqlstore.Version); {
	case version > newest:
		return fmt.Errorf("%w (it has version %d, and this program works with %d to %d)", errNewer, version, oldest, newest)
	case version < oldest:
		return fmt.Errorf("%w (it has version %d, and this program works with %d to %d)", errOlder, version, oldest, newest)
	}
	return nil
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

// setUpAlone does setUp in a transaction, when no other process sets up or migrates a store. It asks again and
// again: whoever waits within a statement keeps the holder of the lock from building an index, and the two never end.
// The lock is the transaction's, so this works through a pooler.
func setUpAlone(ctx context.Context, conn *pgx.Conn, schema string) (version int, isNew bool, err error) {
	for {
		var taken bool
		err := pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
			err := tx.QueryRow(ctx, "SELECT pg_try_advisory_xact_lock($1)", creation).Scan(&taken)
			if err == nil && taken {
				version, isNew, err = setUp(ctx, tx, schema)
			}
			return err
		})
		if taken || err != nil {
			return version, isNew, err
		}
		if err := sleep.For(ctx, pause); err != nil {
			return 0, false, err
		}
	}
}

// setUp makes a store of this program's version, unless another process did so first. It returns
// the store's version, and whether it made the store. The caller has the lock.
func setUp(ctx context.Context, tx pgx.Tx, schema string) (version int, isNew bool, err error) {
	if version, err = versionOf(ctx, tx, schema); version > 0 || err != nil {
		return version, false, err
	}
	// An administrator can make an empty schema for a user who has no right to make one.
	var there bool
	if err := tx.QueryRow(ctx, "SELECT to_regnamespace($1) IS NOT NULL", schema).Scan(&there); err != nil {
		return 0, false, err
	}
	if !there {
		if _, err := tx.Exec(ctx, "CREATE SCHEMA "+schema); err != nil {
			return 0, false, fmt.Errorf("make the schema %s: %w", schema, err)
		}
	}
	if _, err := tx.Exec(ctx, dialect("").Schema()); err != nil {
		return 0, false, fmt.Errorf("make version %d: %w", sqlstore.Version, err)
	}
	_, err = tx.Exec(ctx, "INSERT INTO massgen_store (version, id) VALUES ($1, $2)", sqlstore.Version, rand.Text())
	return sqlstore.Version, true, err
}
