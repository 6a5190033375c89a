package app

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/massgen/massgen/coordinator/kernel"
	"github.com/massgen/massgen/sessions"
	"github.com/massgen/massgen/sessions/sqlite"
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
	if info, err := os.Stat(ownFolder); err == nil && info.IsDir() {
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
		return "", errors.New("there is no home folder to keep sessions in: name a folder with --state-dir")
	}
	return filepath.Join(folder, "massgen", storeFile), nil
}

// isPath tells a file from an id: it has a folder in it, or the ending of a file.
func isPath(session string) bool {
	if strings.Contains(session, "|") { // seed 002's ids may hold anything
		return false
	}
	return strings.ContainsAny(session, `/\`) || strings.HasSuffix(session, ".json") || strings.HasSuffix(session, ".db")
}

// openStore opens the store of sessions, which is made if it is not there.
func (p *program) openStore(ctx context.Context) (*maskedStore, error) {
	path, err := p.statePath()
	if err != nil {
		return nil, err
	}
	store, err := sqlite.Open(ctx, path)
	if err != nil {
		return nil, err
	}
	return &maskedStore{store, p.console.secrets.Redact}, nil
}

// maskedStore keeps no secret: what a model was told of one is masked before it is
// stored. What is sent is built from what is stored.
type maskedStore struct {
	*sqlite.Store
	redact func(string) string
}

func (s *maskedStore) Begin(ctx context.Context, id, question string) (sessions.Begun, error) {
	return s.Store.Begin(ctx, id, s.redact(question))
}

func (s *maskedStore) Commit(ctx context.Context, id string, turn int, ended sessions.Ended) error {
	ended.Answer = s.redact(ended.Answer)
	return s.Store.Commit(ctx, id, turn, ended)
}

func (s *maskedStore) SetMetadata(ctx context.Context, id string, metadata map[string]string) error {
	masked := make(map[string]string, len(metadata))
	for key, value := range metadata {
		masked[key] = s.redact(value)
	}
	return s.Store.SetMetadata(ctx, id, masked)
}

func (s *maskedStore) End(ctx context.Context, id string, turn int, ended sessions.Ended) error {
	ended.Answer = s.redact(ended.Answer)
	return s.Store.End(ctx, id, turn, ended)
}

func (s *maskedStore) Put(ctx context.Context, data []byte) (kernel.Ref, error) {
	return s.Store.Put(ctx, []byte(s.redact(string(data))))
}

func (s *maskedStore) Append(ctx context.Context, id string, turn int, event []byte) error {
	return s.Store.Append(ctx, id, turn, []byte(s.redact(string(event))))
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
