// Package archive opens the store of sessions that the flags name, and runs commands on it.
package archive

import (
	"context"
	"errors"
	"fmt"

	"github.com/massgen/massgen/cmd/massgen/app/cmdline"
	"github.com/massgen/massgen/internal/storage/store"
	"github.com/massgen/massgen/sessions/sqlite"
)

// Archive finds the store of sessions that the flags name.
type Archive struct {
	env     *cmdline.Env
	console *cmdline.Console
	flags   *cmdline.SessionFlags
	display *cmdline.DisplayFlags
}

// New returns the archive that flags name. The flags may change later.
func New(env *cmdline.Env, c *cmdline.Console, flags *cmdline.SessionFlags, display *cmdline.DisplayFlags) *Archive {
	return &Archive{env: env, console: c, flags: flags, display: display}
}

// IsJSON reports whether the flags ask for JSON.
func (s *Archive) IsJSON() bool { return s.display.JSON }

// IsFile reports whether the flags name a file with one session or more.
func (s *Archive) IsFile() bool { return cmdline.IsPath(s.flags.ID) }

// use is what a store is opened for.
type use int

// The uses of a store.
const (
	ToAsk    use = iota // models are sent its content
	ToManage            // only the user sees its content
)

// Open opens the store of sessions, and creates it if needed.
func (s *Archive) Open(ctx context.Context, why use) (*store.Store, error) {
	if address := s.Database(); address != "" {
		return s.openDatabase(ctx, address, why)
	}
	place, err := s.place(ctx, why)
	if err != nil {
		return nil, err
	}
	return store.Open(ctx, place, s.console.Secrets.Redact)
}

// OpenIfThere opens the store of sessions. If the store does not exist, it returns an empty one in memory.
func (s *Archive) OpenIfThere(ctx context.Context, why use) (*store.Store, error) {
	if s.Database() != "" {
		return s.Open(ctx, why)
	}
	place, err := s.place(ctx, why)
	if err != nil {
		return nil, err
	}
	if there, err := place.IsThere(); err == nil && !there {
		return store.InMemory(place.File, s.console.Secrets.Redact), nil
	}
	return store.Open(ctx, place, s.console.Secrets.Redact)
}

// OpenToAsk opens the store of a conversation. If the flags name no store and the default one cannot be
// created or written, the conversation is kept in memory, and notice says why. Any other store that
// cannot or must not be used is an error.
func (s *Archive) OpenToAsk(ctx context.Context) (opened *store.Store, notice string, err error) {
	if s.flags.GoOn || s.flags.ID == cmdline.LastSession {
		opened, err = s.OpenIfThere(ctx, ToAsk)
		return opened, "", err
	}
	opened, err = s.Open(ctx, ToAsk)
	named := s.Database() != "" || s.flags.StateDir != "" || s.flags.ID != "" && s.flags.ID != cmdline.NewSession
	refused := errors.Is(err, store.ErrUntrusted) || errors.Is(err, store.ErrForeign) || errors.Is(err, store.ErrShared)
	if err == nil || named || refused || ctx.Err() != nil || s.isThere(ctx) && !errors.Is(err, sqlite.ErrReadOnly) {
		return opened, "", err
	}
	notice = fmt.Sprintf("nothing is kept of this session after this run: %v", err)
	if !errors.Is(err, store.ErrNoHome) {
		notice += "; --state-dir names another folder"
	}
	return store.InMemory("", s.console.Secrets.Redact), notice, nil
}

// isThere reports whether the file of the store exists.
func (s *Archive) isThere(ctx context.Context) bool {
	place, err := s.place(ctx, ToAsk)
	if err != nil {
		return false
	}
	there, err := place.IsThere()
	return err == nil && there
}

// Database returns the address of the database, "" for a file. A file that the flags name goes before the
// variable.
func (s *Archive) Database() string {
	if s.env.Cluster == nil {
		return ""
	}
	if url := s.flags.Database; url != "" {
		return url
	}
	if s.flags.StateDir != "" || cmdline.IsPath(s.flags.ID) {
		return ""
	}
	url, _ := s.env.Lookup(cmdline.DatabaseVariable)
	return url
}

// openDatabase opens the store that all workers share.
func (s *Archive) openDatabase(ctx context.Context, address string, why use) (*store.Store, error) {
	s.console.Secrets.AddURL(address)
	shared, err := s.env.Cluster.OpenStore(ctx, address)
	if err != nil {
		return nil, fmt.Errorf("--database: %w", err)
	}
	place, err := s.place(ctx, why)
	if err != nil && !errors.Is(err, store.ErrNoHome) { // without one there is only a temporary folder for snapshots
		return nil, errors.Join(err, shared.Close())
	}
	return store.OfSeveral(shared, place.File, s.console.Secrets.Redact), nil
}
