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

// statePath is the file that keeps the sessions: one of its own if --session names
// a path, else that of --state-dir, else the default.
func (p *program) statePath() (string, error) {
	o := p.options
	switch {
	case isPath(o.sessionID):
		return o.sessionID, nil
	case o.stateDir != "":
		return filepath.Join(o.stateDir, store.File), nil
	}
	dir := store.Dir(p.env.Lookup)
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
func (p *program) sessionID(ctx context.Context, store *store.Store, question bool) (string, error) {
	o := p.options
	switch id := o.sessionID; {
	case o.goOn && (id == "" || isPath(id)):
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
