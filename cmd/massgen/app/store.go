package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/massgen/massgen/coordinator"
	"github.com/massgen/massgen/coordinator/kernel"
	"github.com/massgen/massgen/sessions"
	"github.com/massgen/massgen/sessions/sqlite"
)

// keeper is a store of sessions as the program uses it. The one on disk is one, and
// so is sessions.Memory.
type keeper interface {
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
	Usage(ctx context.Context, f sessions.Filter) (sessions.Usage, error)
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
	Reset(ctx context.Context, id string) error
	Compact(ctx context.Context) error
}

// maskedStore keeps no secret: what a model was told of one is masked before it is
// stored. What is sent is built from what is stored.
type maskedStore struct {
	keeper
	// path is the file, which is not there while lasting is nil: then all is in memory.
	path    string
	lasting io.Closer
	redact  func(string) string
	// limiter is nil for a store in which no limits of use are kept.
	limiter limiterOf
	// snapshots is where those of workspaces are by default, empty for no lasting place.
	snapshots string
}

func (s *maskedStore) Begin(ctx context.Context, id, question string) (sessions.Begun, error) {
	return s.keeper.Begin(ctx, id, s.redact(question))
}

func (s *maskedStore) End(ctx context.Context, id string, turn int, ended sessions.Ended) error {
	ended.Answer = s.redact(ended.Answer)
	return s.keeper.End(ctx, id, turn, ended)
}

func (s *maskedStore) Commit(ctx context.Context, id string, turn int, ended sessions.Ended) error {
	ended.Answer = s.redact(ended.Answer)
	return s.keeper.Commit(ctx, id, turn, ended)
}

func (s *maskedStore) SetMetadata(ctx context.Context, id string, metadata map[string]string) error {
	masked := make(map[string]string, len(metadata))
	for key, value := range metadata {
		masked[key] = s.redact(value)
	}
	return s.keeper.SetMetadata(ctx, id, masked)
}

func (s *maskedStore) AddFact(ctx context.Context, user, text string) (sessions.Fact, error) {
	return s.keeper.AddFact(ctx, user, s.redact(text))
}

func (s *maskedStore) Put(ctx context.Context, data []byte) (kernel.Ref, error) {
	return s.keeper.Put(ctx, []byte(s.redact(string(data))))
}

func (s *maskedStore) Append(ctx context.Context, id string, turn int, events ...[]byte) error {
	masked := make([][]byte, len(events))
	for i, event := range events {
		masked[i] = []byte(s.redact(string(event)))
	}
	return s.keeper.Append(ctx, id, turn, masked...)
}

// Path returns the file's path.
func (s *maskedStore) Path() string { return s.path }

// files are those of the store and the default folder of snapshots, which are no agent's
// work.
func (s *maskedStore) files() (list []string) {
	if s.path != "" {
		list = append(list, s.path, s.path+"-wal", s.path+"-shm")
	}
	if s.snapshots != "" {
		list = append(list, s.snapshots)
	}
	return list
}

// Close closes the file, if there is one.
func (s *maskedStore) Close() error {
	if s.lasting == nil {
		return nil
	}
	return s.lasting.Close()
}

// openStore opens the store of sessions, which is made if it is not there.
func (p *program) openStore(ctx context.Context) (*maskedStore, error) {
	if address := p.database(); address != "" {
		return p.openDatabase(ctx, address)
	}
	path, err := p.statePath()
	if err != nil {
		return nil, err
	}
	store, err := sqlite.Open(ctx, path)
	if err != nil {
		return nil, err
	}
	return &maskedStore{keeper: store, path: store.Path(), lasting: store, redact: p.console.secrets.Redact, snapshots: besideStore(store.Path())}, nil
}

// storeInMemory returns an empty store in the place of the one that a file would be.
func (p *program) storeInMemory(path string) *maskedStore {
	s := &maskedStore{keeper: sessions.NewMemory(), path: path, redact: p.console.secrets.Redact}
	if path != "" {
		s.snapshots = besideStore(path)
	}
	return s
}

// storeIfThere opens the store of sessions and makes none: if it is not there, it is
// an empty one in memory.
func (p *program) storeIfThere(ctx context.Context) (*maskedStore, error) {
	if p.database() != "" {
		return p.openStore(ctx)
	}
	path, err := p.statePath()
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return p.storeInMemory(path), nil
	}
	return p.openStore(ctx)
}

// storeToAsk opens the store that a conversation is kept in. Where none can be made,
// a conversation for which none was named goes on in memory, and the notice says so.
// A store that is there and cannot be used is an error.
func (p *program) storeToAsk(ctx context.Context) (store *maskedStore, notice string, err error) {
	o := p.options
	if o.goOn {
		store, err = p.storeIfThere(ctx)
		return store, "", err
	}
	store, err = p.openStore(ctx)
	named := p.database() != "" || o.stateDir != "" || o.sessionID != "" && o.sessionID != newSession
	if err == nil || named || ctx.Err() != nil || p.storeIsThere() {
		return store, "", err
	}
	notice = fmt.Sprintf("nothing is kept of this session after this run: %v", err)
	if !errors.Is(err, errNoHome) {
		notice += "; --state-dir names another folder"
	}
	return p.storeInMemory(""), notice, nil
}

// storeIsThere says whether there is a file where the store is to be.
func (p *program) storeIsThere() bool {
	path, err := p.statePath()
	if err == nil {
		_, err = os.Stat(path)
	}
	return err == nil
}
