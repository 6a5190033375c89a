package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"sync"
	"time"

	"modernc.org/sqlite"

	"github.com/massgen/massgen/coordinator/kernel"
)

// A write waits for another process's for so long, and looks every busyPause
// whether it is still wanted: SQLite's own waiting cannot be cancelled.
const (
	patience  = 10 * time.Second
	busyPause = 100 * time.Millisecond
)

// Store is a store of sessions in one file. It is safe for concurrent use, and so
// is the file: by other Stores and in other processes.
type Store struct {
	path     string
	patience time.Duration
	// write has one connection, in which writes wait for their turn; read has more.
	write, read *sql.DB
	// text reads one text; histories are read with it, link by link.
	text *sql.Stmt

	mu      sync.Mutex
	running map[string]*running
	fresh   map[kernel.Ref]*fresh
	clock   int64 // counts what Begin and Put have done
}

// Open opens the store in a file, which is made if it is not there or empty. A
// file that is no store, or one that this program cannot use, is left as it was,
// and the error says what to do about it.
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
	s := &Store{path: path, patience: wait, running: map[string]*running{}, fresh: map[kernel.Ref]*fresh{}}
	if s.write, err = connect(path, busyPause, url.Values{"_txlock": {"immediate"}, "_pragma": {"secure_delete(1)"}}); err != nil {
		return nil, fault(path, "open", err)
	}
	s.write.SetMaxOpenConns(1)
	if s.read, err = connect(path, patience, url.Values{"_query_only": {"1"}}); err != nil {
		return nil, errors.Join(fault(path, "open", err), s.write.Close())
	}
	s.read.SetMaxOpenConns(readers)
	s.read.SetMaxIdleConns(readers)
	if err := s.patiently(ctx, func() error { return migrate(ctx, s.write, schema) }); err != nil {
		return nil, errors.Join(fault(path, "open", err), s.Close())
	}
	if s.text, err = s.read.PrepareContext(ctx, "SELECT data FROM texts WHERE sha256 = ?"); err != nil {
		return nil, errors.Join(fault(path, "open", err), s.Close())
	}
	return s, nil
}

// readers is how many reads run side by side.
const readers = 4

// connect makes a pool of connections to a database file, which wait so long for
// others.
func connect(path string, wait time.Duration, parameters url.Values) (*sql.DB, error) {
	parameters.Set("_busy_timeout", fmt.Sprint(wait.Milliseconds()))
	parameters.Set("_foreign_keys", "1")
	parameters.Set("_synchronous", "FULL")
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

// Close closes the file. Turns that have not ended are let go of, and count as
// interrupted.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	err := errors.Join(s.read.Close(), s.write.Close())
	for id, r := range s.running {
		err = errors.Join(err, r.lock.release())
		delete(s.running, id)
	}
	return fault(s.path, "close", err)
}

// Path returns the file's absolute path.
func (s *Store) Path() string { return s.path }
