package archive

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/massgen/massgen/cmd/massgen/app/cmdline"
	"github.com/massgen/massgen/internal/storage/store"
	"github.com/massgen/massgen/sessions"
)

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
	case s.flags.GoOn && (id == "" || cmdline.IsPath(id)):
		return lastUsed(ctx, store, "--continue")
	case id == cmdline.LastSession:
		_, err := store.Session(ctx, id)
		if errors.Is(err, sessions.ErrNoSession) {
			return lastUsed(ctx, store, "--session-id "+cmdline.LastSession)
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

// lastUsed returns the id of the session that was used last. Its error names the flag that means it.
func lastUsed(ctx context.Context, store *store.Store, flag string) (string, error) {
	last, err := store.List(ctx, sessions.Filter{Limit: 1})
	if err == nil && len(last) == 0 {
		err = fmt.Errorf("%s: there is no session yet in %s: ask a question first", flag, store.Path())
	}
	if err != nil {
		return "", err
	}
	return last[0].ID, nil
}
