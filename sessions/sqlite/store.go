package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"sync"
	"time"

	"modernc.org/sqlite"

	"github.com/massgen/massgen/internal/storage/sqlstore"
	"github.com/massgen/massgen/sessions"
)

// A write waits for another process's for so long, and looks every busyPause
// whether it is still wanted: SQLite's own waiting cannot be cancelled.
const (
	patience  = 10 * time.Second
	busyPause = 100 * time.Millisecond
)

// Store is a store of sessions in one file. It is safe for concurrent use, and so is the
// file: by other Stores and in other processes.
type Store struct {
	*sessions.Store
	file   opened
	db     *sqlstore.DB
	holds  *holds
	closed sync.Once
}

// Open opens the store in a file, which is made if it is not there or empty. A file that is
// no store, or one that this program cannot use, is left as it was, and the error says what
// to do about it.
func Open(ctx context.Context, path string) (*Store, error) {
	return openWithin(ctx, path, patience)
}

// openWithin opens a store that waits for so long while another process makes it or writes.
func openWithin(ctx context.Context, path string, wait time.Duration) (*Store, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("find the store %s: %w", path, err)
	}
	if err := prepare(ctx, path, wait); err != nil {
		return nil, err
	}
	// By one name only, since a session's lock is a file whose name begins with it.
	if path, err = filepath.EvalSymlinks(path); err != nil {
		return nil, fault(path, "open", err)
	}
	// One connection, in which writes wait for their turn.
	write, err := connect(path, busyPause, url.Values{"_txlock": {"immediate"}, "_pragma": {"secure_delete(1)"}})
	if err != nil {
		return nil, fault(path, "open", err)
	}
	write.SetMaxOpenConns(1)
	read, err := connect(path, patience, url.Values{"_query_only": {"1"}})
	if err != nil {
		return nil, errors.Join(fault(path, "open", err), write.Close())
	}
	read.SetMaxOpenConns(readers)
	read.SetMaxIdleConns(readers)
	texts := newTexts()
	db := sqlstore.NewDB(dialect(path, wait), texts, write, read)
	if err := db.Patiently(ctx, func() error { return migrate(ctx, write, steps(), sqlstore.Version) }); err != nil {
		return nil, errors.Join(fault(path, "open", err), db.Close())
	}
	file, err := whenOpened(path)
	if err != nil {
		return nil, errors.Join(fault(path, "open", err), db.Close())
	}
	h := &holds{file: file, db: db, texts: texts, running: map[string]*running{}}
	return &Store{Store: sessions.NewStore(backing{sqlstore.New(db, h), file, db}), file: file, db: db, holds: h}, nil
}

// readers is how many reads run side by side.
const readers = 4

// connect makes a pool of connections to a database file, which wait so long for
// others.
func connect(path string, wait time.Duration, parameters url.Values) (*sql.DB, error) {
	parameters.Set("_busy_timeout", fmt.Sprint(wait.Milliseconds()))
	parameters.Set("_foreign_keys", "1")
	if !parameters.Has("_synchronous") {
		parameters.Set("_synchronous", "FULL")
	}
	parameters.Add("_pragma", "trusted_schema(0)")
	parameters.Add("_pragma", "cell_size_check(1)")
	slashed := filepath.ToSlash(path)
	if slashed[0] != '/' { // C:/...
		slashed = "/" + slashed
	}
	connector, err := sqlite.NewConnector((&url.URL{Scheme: "file", Path: slashed, RawQuery: parameters.Encode()}).String())
	if err != nil {
		return nil, err
	}
	return sql.OpenDB(connector), nil
}

// Close closes the file. Turns that have not ended are let go of, and count as interrupted. The first Close
// returns an error also if the file is no longer in its place.
func (s *Store) Close() error {
	var err error
	s.closed.Do(func() { err = s.file.isThere() })
	return fault(s.file.path, "close", errors.Join(err, s.db.Close(), s.holds.letGoOfAll()))
}

// Path returns the file's absolute path.
func (s *Store) Path() string { return s.file.path }

// backing implements sessions.Backing.
type backing struct {
	*sqlstore.Store
	file opened
	db   *sqlstore.DB
}

// List implements sessions.Backing. A list of all sessions says if the file is gone: SQLite would go on with
// the file that nobody can open any more.
func (s backing) List(ctx context.Context, f sessions.Filter) ([]sessions.Session, error) {
	if f.ID == "" {
		if err := s.file.isThere(); err != nil {
			return nil, fault(s.file.path, "list the sessions", err)
		}
	}
	return s.Store.List(ctx, f)
}

// Forget implements sessions.Backing. The fact's bytes are overwritten.
func (s backing) Forget(ctx context.Context, id int64) error {
	if err := s.Store.Forget(ctx, id); err != nil {
		return err
	}
	return emptyLog(ctx, s.db)
}

// Compact implements sessions.Backing. It makes the search indexes anew.
func (s backing) Compact(ctx context.Context) error {
	if err := s.DropLost(ctx); err != nil {
		return err
	}
	err := s.db.Change(ctx, "compact", func(w *sqlstore.Tx) {
		w.Exec("DELETE FROM texts WHERE NOT EXISTS (SELECT 1 FROM refs WHERE text = texts.id)")
		for _, index := range searchIndexes() {
			w.Exec(fmt.Sprintf("INSERT INTO %s (%s) VALUES ('rebuild')", index, index))
		}
	})
	if err != nil {
		return err
	}
	err = s.db.Patiently(ctx, func() error { return s.db.Exec(ctx, "VACUUM") })
	return cmp.Or(fault(s.file.path, "compact", err), emptyLog(ctx, s.db))
}

func searchIndexes() []string { return []string{"turn_search", "title_search", "fact_search"} }
