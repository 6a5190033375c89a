package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/massgen/massgen/internal/storage/sqlstore"
	"github.com/massgen/massgen/internal/system/sleep"
)

// Migration describes the upgrade of a store.
type Migration struct {
	// Place says where the store is, without a password.
	Place string
	// From is the version that the store had, 0 if there was none, and To the version of this
	// program. A store that a newer program wrote stays as it is.
	From, To int
	// Oldest and Newest are the versions of a store with which this program works.
	Oldest, Newest int
	// Steps are the upgrades from From to To, in order.
	Steps []MigrationStep
}

// MigrationStep is one upgrade, by one version or from nothing.
type MigrationStep struct {
	From, To int
	// Breaks reports whether programs of version From stop working. All others go on.
	Breaks bool
	// Indexes are the statements that PostgreSQL runs each by itself, before those that it runs in
	// one transaction.
	Indexes, Statements []string
}

// longestLock is how long a migration waits for a table that another program uses. All programs
// that need the table wait behind it.
const longestLock = 3 * time.Second

// Migrate upgrades the store at an address, as Open takes one, to the version of this program,
// or sets one up. It returns what it did. A dry run changes nothing, and returns what Migrate
// would do. Other programs may use the store meanwhile; of several that migrate it, one does.
// A step is done or not done, so Migrate may be repeated after a failure. The address must lead
// to the server itself: a pooler in front of it may give each statement another connection.
func Migrate(ctx context.Context, address string, dry bool) (m Migration, err error) {
	config, err := configOf(address)
	if err != nil {
		return m, err
	}
	m.Place = place(config)
	conn, err := pgx.ConnectConfig(ctx, config.ConnConfig)
	if err != nil {
		return m, fault(m.Place, "connect", err)
	}
	defer func() { err = errors.Join(err, conn.Close(context.WithoutCancel(ctx))) }()
	return m, fault(m.Place, "upgrade", m.run(ctx, conn, schemaOf(config), dry))
}

func (m *Migration) run(ctx context.Context, conn *pgx.Conn, schema string, dry bool) error {
	if err := suits(conn); err != nil {
		return err
	}
	if !dry {
		if err := lockCreation(ctx, conn); err != nil {
			return err
		}
	}
	var err error
	if m.From, err = versionOf(ctx, conn, schema); err != nil {
		return err
	}
	m.To = sqlstore.Version
	m.Oldest, m.Newest = steps().Window(m.To)
	if m.From > m.Newest {
		return checkVersion(m.From)
	}
	m.plan(schema)
	for _, step := range m.Steps {
		if dry {
			break
		}
		if err := step.run(ctx, conn, schema); err != nil {
			return fmt.Errorf("go from version %d to %d: %w", step.From, step.To, err)
		}
	}
	return nil
}

// lockCreation takes the lock for as long as the connection lasts. A wait within one statement
// would keep the holder from building an index.
func lockCreation(ctx context.Context, conn *pgx.Conn) error {
	for {
		var taken bool
		if err := conn.QueryRow(ctx, "SELECT pg_try_advisory_lock($1)", creation).Scan(&taken); taken || err != nil {
			return err
		}
		if err := sleep.For(ctx, pause); err != nil {
			return err
		}
	}
}

func (m *Migration) plan(schema string) {
	if m.From == 0 {
		m.Steps = []MigrationStep{{To: m.To, Statements: []string{
			"CREATE SCHEMA IF NOT EXISTS " + schema, dialect("").Schema(),
			fmt.Sprintf("INSERT INTO massgen_store (version, id) VALUES (%d, md5(random()::text || clock_timestamp()::text))", m.To),
		}}}
		return
	}
	for from := m.From; from < m.To; from++ {
		s := steps()[from]
		planned := MigrationStep{From: from, To: from + 1, Breaks: s.Breaks != "", Statements: append(s.Changes(), fmt.Sprintf("UPDATE massgen_store SET version = %d", from+1))}
		for _, index := range s.Indexes {
			name, _, _ := strings.Cut(index, " ")
			// An attempt that failed leaves an index that is not used.
			planned.Indexes = append(planned.Indexes, "DROP INDEX CONCURRENTLY IF EXISTS "+name, "CREATE INDEX CONCURRENTLY "+index)
		}
		m.Steps = append(m.Steps, planned)
	}
}

// run does a step. The new version is part of its transaction.
func (s MigrationStep) run(ctx context.Context, conn *pgx.Conn, schema string) error {
	if s.From == 0 {
		return pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error { _, _, err := setUp(ctx, tx, schema); return err })
	}
	for _, statement := range s.Indexes {
		if _, err := conn.Exec(ctx, statement); err != nil {
			return err
		}
	}
	return pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, "SELECT set_config('lock_timeout', $1, true)", fmt.Sprint(longestLock.Milliseconds())); err != nil {
			return err
		}
		for _, statements := range s.Statements {
			if _, err := tx.Exec(ctx, statements); err != nil {
				return err
			}
		}
		if s.From > 2 {
			return nil
		}
		if err := addMissingWords(ctx, tx); err != nil {
			return fmt.Errorf("keep the words of turns that were given up: %w", err)
		}
		return nil
	})
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
