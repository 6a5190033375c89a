package store

import (
	"context"
	"errors"
	"io"
	"path/filepath"

	"github.com/massgen/massgen/internal/models/retry"
	"github.com/massgen/massgen/sessions"
	"github.com/massgen/massgen/sessions/sqlite"
)

// Store is a store of sessions without secrets: it masks the secrets in models' texts before it
// stores them. Inputs are built from stored texts.
type Store struct {
	Sessions *sessions.Store
	// path is the path of the file, which does not exist while lasting is nil: then everything
	// is in memory.
	path    string
	folder  string // of the file or of the snapshots, empty for a store without either
	lasting io.Closer
	export  *exported // nil for a store without an exported file
	redact  func(string) string
	// Limiter returns the keeper of an account's limits. It is nil for a store that keeps no
	// limits of use.
	Limiter func(account string, l retry.Limits) retry.Limiter
	// Snapshots is the default folder for snapshots of workspaces, empty for no lasting place.
	Snapshots string
}

// Lasts reports whether sessions outlive this process.
func (s *Store) Lasts() bool { return s.lasting != nil }

// Path returns the file's path. The file does not exist while everything is in memory.
func (s *Store) Path() string { return s.path }

// Files returns the files of the store and the default folder of snapshots, which do not belong
// to an agent's work.
func (s *Store) Files() (list []string) {
	if s.path != "" {
		list = append(list, s.path, s.path+"-wal", s.path+"-shm")
	}
	if s.Snapshots != "" {
		list = append(list, s.Snapshots)
	}
	return list
}

// Close closes the file, if there is one. It first writes the file of an exported session.
func (s *Store) Close() error {
	switch {
	case s.lasting == nil:
		return nil
	case s.export != nil:
		return s.export.close(s)
	}
	return s.lasting.Close()
}

// Open opens the store in a place, and creates it if needed. It does not change a place that
// Check refuses. redact masks secrets before they are stored.
func Open(ctx context.Context, place Place, redact func(string) string) (*Store, error) {
	if place == (Place{}) {
		return InMemory("", redact), nil
	}
	if place.export != "" {
		return openExported(ctx, place, redact)
	}
	var file *sqlite.Store
	err := place.open(ctx, func() (err error) {
		file, err = sqlite.Open(ctx, place.File)
		return err
	})
	if err != nil {
		if file != nil {
			err = errors.Join(err, file.Close())
		}
		return nil, err
	}
	return &Store{Sessions: file.Masked(redact), path: file.Path(), folder: filepath.Dir(file.Path()), lasting: file, redact: redact, Snapshots: beside(file.Path())}, nil
}

// InMemory returns an empty store instead of the one in a file; without a path it is for this
// process alone.
func InMemory(path string, redact func(string) string) *Store {
	s := &Store{Sessions: sessions.NewMemory().Masked(redact), path: path, redact: redact}
	if path != "" {
		s.Snapshots = beside(path)
	}
	return s
}

// Of returns a store that its owner closes.
func Of(kept sessions.Keeper, redact func(string) string) *Store {
	return &Store{Sessions: kept.Masked(redact), redact: redact}
}

// Shared is the store of several machines.
type Shared interface {
	sessions.Keeper
	io.Closer
	// Database returns the random id of the store, and where the store is, for people.
	Database() (id, place string)
	// Limiter returns the keeper of an account's limits over all machines. The account's name
	// is no secret.
	Limiter(account string, l retry.Limits) retry.Limiter
}

// OfSeveral returns the store of several machines. Snapshots of workspaces are kept beside
// file, if it is not empty.
func OfSeveral(shared Shared, file string, redact func(string) string) *Store {
	_, place := shared.Database()
	s := &Store{Sessions: shared.Masked(redact), path: place, lasting: shared, redact: redact, Limiter: shared.Limiter}
	if file != "" {
		s.Snapshots, s.folder = beside(file), filepath.Dir(file)
	}
	return s
}
