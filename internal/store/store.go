package store

import (
	"context"
	"errors"
	"io"

	"github.com/massgen/massgen/coordinator"
	"github.com/massgen/massgen/internal/blob"
	"github.com/massgen/massgen/internal/budget"
	"github.com/massgen/massgen/internal/retry"
	"github.com/massgen/massgen/sessions"
	"github.com/massgen/massgen/sessions/sqlite"
)

// Keeper is a store of sessions as the program uses it. The one on disk is one, and
// so is sessions.Memory.
type Keeper interface {
	coordinator.Store
	looks
	changes
}

// looks changes nothing but the facts.
type looks interface {
	listing
	telling
	facts
}

type listing interface {
	List(ctx context.Context, f sessions.Filter) ([]sessions.Session, error)
	Usage(ctx context.Context, f sessions.Filter) (budget.Usage, error)
	Search(ctx context.Context, query string, limit int) ([]sessions.Hit, error)
}

type telling interface {
	Turns(ctx context.Context, id string, last int) ([]sessions.Turn, error)
	Interrupted(ctx context.Context, id string) ([]sessions.Turn, error)
	Export(ctx context.Context, id string, w io.Writer) error
}

type facts interface {
	AddFact(ctx context.Context, user, text string) (sessions.Fact, error)
	Facts(ctx context.Context, user string) ([]sessions.Fact, error)
	Forget(ctx context.Context, id int64) error
}

// changes is what is done with whole sessions.
type changes interface {
	naming
	copying
	removing
}

type naming interface {
	SetTitle(ctx context.Context, id, title string) error
}

type copying interface {
	Branch(ctx context.Context, from string, turn int, to string) (sessions.Session, error)
	Import(ctx context.Context, r io.Reader, as string) (sessions.Session, error)
}

type removing interface {
	Delete(ctx context.Context, id string) error
	Compact(ctx context.Context) error
}

// Store keeps no secret: what a model was told of one is masked before it is
// stored. What is sent is built from what is stored.
type Store struct {
	Keeper
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

// Begin implements coordinator.Turns.
func (s *Store) Begin(ctx context.Context, id, question string) (sessions.Begun, error) {
	if err := s.export.takes(id); err != nil {
		return sessions.Begun{}, err
	}
	return s.Keeper.Begin(ctx, id, s.redact(question))
}

// End implements coordinator.Turns.
func (s *Store) End(ctx context.Context, id string, turn int, ended sessions.Ended) error {
	ended.Answer = s.redact(ended.Answer)
	return s.Keeper.End(ctx, id, turn, ended)
}

// Commit implements coordinator.Turns.
func (s *Store) Commit(ctx context.Context, id string, turn int, ended sessions.Ended) error {
	ended.Answer = s.redact(ended.Answer)
	return s.Keeper.Commit(ctx, id, turn, ended)
}

// SetMetadata implements coordinator.Notes.
func (s *Store) SetMetadata(ctx context.Context, id string, metadata map[string]string) error {
	masked := make(map[string]string, len(metadata))
	for key, value := range metadata {
		masked[key] = s.redact(value)
	}
	return s.Keeper.SetMetadata(ctx, id, masked)
}

// AddFact keeps a fact about a user.
func (s *Store) AddFact(ctx context.Context, user, text string) (sessions.Fact, error) {
	return s.Keeper.AddFact(ctx, user, s.redact(text))
}

// Put implements agents.Blobs.
func (s *Store) Put(ctx context.Context, data []byte) (blob.Ref, error) {
	return s.Keeper.Put(ctx, s.masked(data))
}

// Append implements coordinator.Journal.
func (s *Store) Append(ctx context.Context, id string, turn int, events ...[]byte) error {
	masked := make([][]byte, len(events))
	for i, event := range events {
		masked[i] = s.masked(event)
	}
	return s.Keeper.Append(ctx, id, turn, masked...)
}

// masked returns data without secrets, which is most often data itself.
func (s *Store) masked(data []byte) []byte {
	text := string(data)
	if masked := s.redact(text); masked != text {
		return []byte(masked)
	}
	return data
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
	return &Store{Keeper: file, path: file.Path(), lasting: file, redact: redact, Snapshots: beside(file.Path())}, nil
}

// InMemory returns an empty store in the place of the one that a file would be; without a
// path it is for this process alone.
func InMemory(path string, redact func(string) string) *Store {
	s := &Store{Keeper: sessions.NewMemory(), path: path, redact: redact}
	if path != "" {
		s.Snapshots = beside(path)
	}
	return s
}

// Of returns a store that somebody else closes.
func Of(kept Keeper, redact func(string) string) *Store { return &Store{Keeper: kept, redact: redact} }

// Shared is the store of several machines.
type Shared interface {
	Keeper
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
	s := &Store{Keeper: shared, path: shared.Place(), lasting: shared, redact: redact, Limiter: shared.Limiter}
	if file != "" {
		s.Snapshots = beside(file)
	}
	return s
}
