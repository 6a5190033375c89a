package store

import (
	"context"
	"errors"
	"io"

	"github.com/massgen/massgen/internal/retry"
	"github.com/massgen/massgen/sessions"
	"github.com/massgen/massgen/sessions/sqlite"
)

// Store keeps no secret: what a model was told of one is masked before it is
// stored. What is sent is built from what is stored.
type Store struct {
	*sessions.Store
	// path is the file, which is not there while lasting is nil: then all is in memory.
	path    string
	lasting io.Closer
	export  *exported // nil for a store that is no exported file's
	redact  func(string) string
	// Limiter returns what keeps the limits of an account; it is nil for a store in which no
	// limits of use are kept.
	Limiter func(account string, l retry.Limits) retry.Limiter
	// Snapshots is where those of workspaces are by default, empty for no lasting place.
	Snapshots string
}

// Begin is sessions.Store.Begin. An exported file has one session.
func (s *Store) Begin(ctx context.Context, id, question string) (sessions.Begun, error) {
	if err := s.export.takes(id); err != nil {
		return sessions.Begun{}, err
	}
	return s.Store.Begin(ctx, id, question)
}

// Lasts says whether sessions are kept beyond this process.
func (s *Store) Lasts() bool { return s.lasting != nil }

// Path returns the file's path, which is not there while all is in memory.
func (s *Store) Path() string { return s.path }

// Files are those of the store and the default folder of snapshots, which are no agent's
// work.
func (s *Store) Files() (list []string) {
	if s.path != "" {
		list = append(list, s.path, s.path+"-wal", s.path+"-shm")
	}
	if s.Snapshots != "" {
		list = append(list, s.Snapshots)
	}
	return list
}

// Close closes the file, if there is one. That of an exported session is written first.
func (s *Store) Close() error {
	switch {
	case s.lasting == nil:
		return nil
	case s.export != nil:
		return s.export.close(s)
	}
	return s.lasting.Close()
}

// Open opens the store in a place, and makes it if it is not there. A place that Check refuses
// is left as it is. What redact changes is not kept.
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
	return &Store{Store: file.Masked(redact), path: file.Path(), lasting: file, redact: redact, Snapshots: beside(file.Path())}, nil
}

// InMemory returns an empty store in the place of the one that a file would be; without a
// path it is for this process alone.
func InMemory(path string, redact func(string) string) *Store {
	s := &Store{Store: sessions.NewMemory().Masked(redact), path: path, redact: redact}
	if path != "" {
		s.Snapshots = beside(path)
	}
	return s
}

// Of returns a store that somebody else closes.
func Of(kept sessions.Keeper, redact func(string) string) *Store {
	return &Store{Store: kept.Masked(redact), redact: redact}
}

// Shared is the store of several machines.
type Shared interface {
	sessions.Keeper
	io.Closer
	common
}

// common is what a store has for all who have it open.
type common interface {
	// Place says where the store is, for people.
	Place() string
	// Limiter returns what keeps the limits of an account, whose name is no secret, for all
	// of them together.
	Limiter(account string, l retry.Limits) retry.Limiter
}

// OfSeveral returns the store of several machines. Snapshots of workspaces are kept beside
// the file, where it is not empty.
func OfSeveral(shared Shared, file string, redact func(string) string) *Store {
	s := &Store{Store: shared.Masked(redact), path: shared.Place(), lasting: shared, redact: redact, Limiter: shared.Limiter}
	if file != "" {
		s.Snapshots = beside(file)
	}
	return s
}
