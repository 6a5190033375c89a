package app

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/massgen/massgen/internal/store"
	"github.com/massgen/massgen/sessions"
)

// newSession is what --session-id takes in place of an id.
const newSession = "new"

// path is the file that keeps the sessions: one of its own if --session names
// a path, else that of --state-dir, else the default.
func (s storage) path() (string, error) {
	switch {
	case isPath(s.flags.id):
		return s.flags.id, nil
	case s.flags.stateDir != "":
		return filepath.Join(s.flags.stateDir, store.File), nil
	}
	dir := store.Dir(s.env.Lookup)
	if dir == "" {
		return "", fmt.Errorf("%w: --state-dir names a folder", store.ErrNoHome)
	}
	return filepath.Join(dir, store.File), nil
}

// isPath tells a file from an id: it has a folder in it, or the ending of a file.
func isPath(session string) bool {
	if strings.Contains(session, "|") { // seed 002's ids may hold anything
		return false
	}
	return strings.ContainsAny(session, `/\`) || strings.HasSuffix(session, ".json") || strings.HasSuffix(session, ".db")
}

// sessionID is the session that the options mean. With no flag a question begins a
// new one, and a conversation goes on with the default one.
func (s storage) sessionID(ctx context.Context, store *store.Store, question bool) (string, error) {
	switch id := s.flags.id; {
	case s.flags.goOn && (id == "" || isPath(id)):
		last, err := store.List(ctx, sessions.Filter{Limit: 1})
		if err == nil && len(last) == 0 {
			err = fmt.Errorf("--continue: there is no session yet in %s: ask a question first", store.Path())
		}
		if err != nil {
			return "", err
		}
		return last[0].ID, nil
	case id == newSession:
		return sessions.NewID(), nil
	case isPath(id):
		return sessions.Default, nil
	case id != "":
		if err := sessions.CheckID(id); err != nil {
			return "", fmt.Errorf("--session-id: %w", err)
		}
		return id, nil
	case question:
		return sessions.NewID(), nil
	}
	return sessions.Default, nil
}
