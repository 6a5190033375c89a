package app

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/massgen/massgen/agents/workspace"
	"github.com/massgen/massgen/sessions"
)

// newSession is what --session-id takes in place of an id.
const newSession = "new"

// storeFile is the store's name in the state folder.
const storeFile = "sessions.db"

// ownFolder is the state folder of a project, where somebody has made it.
const ownFolder = ".massgen"

// statePath is the file that keeps the sessions: one of its own if --session names
// a path, else that of --state-dir, of .massgen/ where it exists, or of the user's
// state folder. A folder that is not absolute is none: the current folder shall not
// decide by chance where conversations are.
func (p *program) statePath() (string, error) {
	o := p.options
	switch {
	case isPath(o.sessionID):
		return o.sessionID, nil
	case o.stateDir != "":
		return filepath.Join(o.stateDir, storeFile), nil
	}
	if isOwnFolder(ownFolder) {
		return filepath.Join(ownFolder, storeFile), nil
	}
	folder, _ := p.env.Lookup("XDG_STATE_HOME")
	if !filepath.IsAbs(folder) {
		home, _ := p.env.Lookup("HOME")
		if home == "" {
			home, _ = p.env.Lookup("USERPROFILE")
		}
		folder = filepath.Join(home, ".local", "state")
	}
	if !filepath.IsAbs(folder) {
		return "", errNoHome
	}
	return filepath.Join(folder, "massgen", storeFile), nil
}

// isOwnFolder says that somebody has made a folder for sessions. One that an agent has
// kept its results in, and nothing else is in, is none.
func isOwnFolder(dir string) bool {
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return false
	}
	entries, err := os.ReadDir(dir)
	ofAgent := err == nil && len(entries) == 1 && entries[0].Name() == workspace.ResultsFolder
	return !ofAgent // one that cannot be read is told of by who opens it
}

// errNoHome says that nothing tells where sessions are to be kept.
var errNoHome = errors.New("there is no home folder to keep sessions in: --state-dir names a folder")

// isPath tells a file from an id: it has a folder in it, or the ending of a file.
func isPath(session string) bool {
	if strings.Contains(session, "|") { // seed 002's ids may hold anything
		return false
	}
	return strings.ContainsAny(session, `/\`) || strings.HasSuffix(session, ".json") || strings.HasSuffix(session, ".db")
}

// sessionID is the session that the options mean. With no flag a question begins a
// new one, and a conversation goes on with the default one.
func (p *program) sessionID(ctx context.Context, store *maskedStore, question bool) (string, error) {
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
