// Package archive opens the store of sessions that the flags name, and runs commands on it.
package archive

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"github.com/massgen/massgen/cmd/massgen/app/cmdline"
	"github.com/massgen/massgen/internal/storage/store"
	"github.com/massgen/massgen/internal/system/plain"
	"github.com/massgen/massgen/sessions"
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

// Folder returns the folder of the file with the sessions.
func (s *Archive) Folder(ctx context.Context) (string, error) {
	place, err := s.place(ctx, ToAsk)
	return filepath.Dir(place.File), err
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
	at := cmdline.DatabaseAddress{URL: address, Pooler: s.flags.Pooler, IsBusy: s.flags.IsBusy}
	if s.flags.Waits { // a service: the address may name the wrong database
		at.Made = func(place string) { s.console.Say("massgen: made a new store in %s", plain.Line(place)) }
	}
	open := func() (store.Shared, error) {
		shared, err := s.env.Cluster.OpenStore(ctx, at)
		if err != nil {
			return nil, fmt.Errorf("--database: %w", err)
		}
		return shared, nil
	}
	if s.flags.Waits {
		wait := open
		open = func() (store.Shared, error) { return cmdline.WaitForServer(ctx, s.console, wait) }
	}
	shared, err := open()
	if err != nil {
		return nil, err
	}
	place, err := s.place(ctx, why)
	if err != nil && !errors.Is(err, store.ErrNoHome) { // without one there is only a temporary folder for snapshots
		return nil, errors.Join(err, shared.Close())
	}
	return store.OfSeveral(shared, place.File, s.console.Secrets.Redact), nil
}

// place is where the sessions are kept: in a file of its own if --session names a path, else
// in the folder of --state-dir, else in the default one, if that may be used.
func (s *Archive) place(ctx context.Context, why use) (store.Place, error) {
	switch {
	case cmdline.IsPath(s.flags.ID) && store.IsExported(s.flags.ID):
		return store.Exported(s.flags.ID), nil
	case cmdline.IsPath(s.flags.ID):
		return store.At(s.flags.ID), nil
	case s.flags.StateDir != "":
		return store.In(s.flags.StateDir), nil
	}
	place, err := store.Default(s.env.Lookup)
	if err != nil {
		return place, fmt.Errorf("%w: --state-dir names a folder", err)
	}
	err = place.Check(ctx)
	switch {
	case err == nil:
		return place, nil
	case errors.Is(err, store.ErrShared) && why == ToManage:
		s.console.Warn(err.Error())
		return store.At(place.File), nil
	case !errors.Is(err, store.ErrUntrusted):
		return place, fmt.Errorf("%w: --state-dir names another folder", err)
	case s.flags.Trust:
	case s.CanAsk():
		yes, readErr := s.Asks(store.ErrUntrusted.Error() + ".\nUse it from now on?")
		if readErr != nil || !yes {
			return place, errors.Join(readErr, fmt.Errorf("%w: --state-dir names another folder", err))
		}
	default:
		return place, fmt.Errorf("%w: --state-dir %s looks at it, --trust uses it from now on, --state-dir names another", err, store.OwnFolder)
	}
	return place.Trusted(), nil
}

// CanAsk reports whether a person sees a question and can answer it.
func (s *Archive) CanAsk() bool {
	return !s.display.Automation && cmdline.IsTerminal(s.env.Stdin) && cmdline.IsTerminal(s.env.Stderr)
}

// Asks asks a person a question. It reads no byte behind the line of the answer. An interrupt ends the
// program here.
func (s *Archive) Asks(question string) (yes bool, err error) {
	s.console.Write(fmt.Sprintf("massgen: %s [y/N] ", question))
	var line []byte
	for b := make([]byte, 1); ; {
		n, err := s.env.Stdin.Read(b)
		switch {
		case n > 0 && b[0] == '\n', errors.Is(err, io.EOF):
			return len(line) > 0 && (line[0] == 'y' || line[0] == 'Y'), nil
		case err != nil:
			return false, fmt.Errorf("read the answer: %w", err)
		case n > 0:
			line = append(line, b[0])
		}
	}
}

// SessionID is the session that the options mean: without a flag a new one.
func (s *Archive) SessionID(ctx context.Context, store *store.Store) (string, error) {
	switch id := s.flags.ID; {
	case s.flags.GoOn && id == "" && !s.flags.Anywhere:
		return idOf("--continue")(s.LastHere(ctx, store))
	case s.flags.GoOn && (id == "" || cmdline.IsPath(id)):
		return idOf("--continue")(lastUsed(ctx, store))
	case id == cmdline.LastSession:
		_, err := store.Sessions.Session(ctx, id)
		if errors.Is(err, sessions.ErrNoSession) {
			return idOf("--session-id " + cmdline.LastSession)(lastUsed(ctx, store))
		}
		return id, err
	case id == cmdline.NewSession:
		return sessions.NewID(), nil
	case cmdline.IsPath(id):
		return sessions.Default, nil
	case id != "":
		if err := sessions.CheckID(id); err != nil {
			return "", fmt.Errorf("--session-id: %w", err)
		}
		return id, nil
	}
	return sessions.NewID(), nil
}

// idOf returns the id of a session that a flag asks for. Its error names the flag.
func idOf(flag string) func(sessions.Session, error) (string, error) {
	return func(found sessions.Session, err error) (string, error) {
		if err != nil {
			return "", fmt.Errorf("%s: %w", flag, err)
		}
		return found.ID, nil
	}
}

// lastUsed returns the session that was used last.
func lastUsed(ctx context.Context, store *store.Store) (sessions.Session, error) {
	last, err := store.Sessions.List(ctx, sessions.Filter{Limit: 1})
	if err == nil && len(last) == 0 {
		err = fmt.Errorf("there is no session yet in %s: ask a question first", store.Path())
	}
	if err != nil {
		return sessions.Session{}, err
	}
	return last[0], nil
}
