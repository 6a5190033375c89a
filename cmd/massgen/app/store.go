package app

import (
	"context"
	"errors"
	"fmt"

	"github.com/massgen/massgen/internal/storage/store"
	"github.com/massgen/massgen/sessions/sqlite"
)

// databaseVariable is where the address of the database may stand, which may have a
// password.
const databaseVariable = "MASSGEN_DATABASE"

// storage finds the store of sessions that the flags name.
type storage struct {
	env     *Env
	console *console
	flags   *sessionFlags
	display *displayFlags
}

func newStorage(env *Env, c *console, flags *sessionFlags, display *displayFlags) *storage {
	return &storage{env: env, console: c, flags: flags, display: display}
}

// isJSON reports whether the flags ask for JSON.
func (s *storage) isJSON() bool { return s.display.json }

// isFile reports whether the flags name a file with one session or more.
func (s *storage) isFile() bool { return isPath(s.flags.id) }

// use is what a store is opened for.
type use int

const (
	toAsk    use = iota // models are sent what it holds
	toManage            // only the user sees what it holds
)

// open opens the store of sessions, which is made if it is not there.
func (s *storage) open(ctx context.Context, why use) (*store.Store, error) {
	if address := s.database(); address != "" {
		return s.openDatabase(ctx, address, why)
	}
	place, err := s.place(ctx, why)
	if err != nil {
		return nil, err
	}
	return store.Open(ctx, place, s.console.secrets.Redact)
}

// openIfThere opens the store of sessions and makes none: if it is not there, it is
// an empty one in memory.
func (s *storage) openIfThere(ctx context.Context, why use) (*store.Store, error) {
	if s.database() != "" {
		return s.open(ctx, why)
	}
	place, err := s.place(ctx, why)
	if err != nil {
		return nil, err
	}
	if there, err := place.IsThere(); err == nil && !there {
		return store.InMemory(place.File, s.console.secrets.Redact), nil
	}
	return store.Open(ctx, place, s.console.secrets.Redact)
}

// openToAsk opens the store that a conversation is kept in. Where none can be made,
// a conversation for which none was named goes on in memory, and the notice says so.
// A store that is there and cannot be used is an error, unless it can only be read, and so is
// one that may not be used.
func (s *storage) openToAsk(ctx context.Context) (opened *store.Store, notice string, err error) {
	if s.flags.goOn || s.flags.id == lastSession {
		opened, err = s.openIfThere(ctx, toAsk)
		return opened, "", err
	}
	opened, err = s.open(ctx, toAsk)
	named := s.database() != "" || s.flags.stateDir != "" || s.flags.id != "" && s.flags.id != newSession
	refused := errors.Is(err, store.ErrUntrusted) || errors.Is(err, store.ErrForeign) || errors.Is(err, store.ErrShared)
	if err == nil || named || refused || ctx.Err() != nil || s.isThere(ctx) && !errors.Is(err, sqlite.ErrReadOnly) {
		return opened, "", err
	}
	notice = fmt.Sprintf("nothing is kept of this session after this run: %v", err)
	if !errors.Is(err, store.ErrNoHome) {
		notice += "; --state-dir names another folder"
	}
	return store.InMemory("", s.console.secrets.Redact), notice, nil
}

// isThere says whether there is a file where the store is to be.
func (s *storage) isThere(ctx context.Context) bool {
	place, err := s.place(ctx, toAsk)
	if err != nil {
		return false
	}
	there, err := place.IsThere()
	return err == nil && there
}

// database is the address of the database, "" for a file. A file that is named is meant
// rather than a variable.
func (s *storage) database() string {
	if s.env.Cluster == nil {
		return ""
	}
	if url := s.flags.database; url != "" {
		return url
	}
	if s.flags.stateDir != "" || isPath(s.flags.id) {
		return ""
	}
	url, _ := s.env.Lookup(databaseVariable)
	return url
}

// openDatabase opens the store that all workers share.
func (s *storage) openDatabase(ctx context.Context, address string, why use) (*store.Store, error) {
	s.console.secrets.AddURL(address)
	shared, err := s.env.Cluster.OpenStore(ctx, address)
	if err != nil {
		return nil, fmt.Errorf("--database: %w", err)
	}
	place, err := s.place(ctx, why)
	if err != nil && !errors.Is(err, store.ErrNoHome) { // without one there is only a temporary folder for snapshots
		return nil, errors.Join(err, shared.Close())
	}
	return store.OfSeveral(shared, place.File, s.console.secrets.Redact), nil
}
