package app

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/massgen/massgen/configs"
	"github.com/massgen/massgen/internal/storage/store"
	"github.com/massgen/massgen/internal/system/plain"
	"github.com/massgen/massgen/sessions"
)

// lastSession is the word for the session that was used last, unless a session has it for its id.
const lastSession = "last"

// pick returns the session that the first of words names, and the other words. The word "last", or
// no word, stands for the session that was used last. With --session FILE the id may be missing
// before other words too, of which there are at most others, if the file has one session only.
func (s *storage) pick(ctx context.Context, kept *store.Store, words []string, others int) (sessions.Session, []string, error) {
	if len(words) > 0 {
		found, err := kept.Session(ctx, words[0])
		if err == nil {
			return found, words[1:], nil
		}
		if !errors.Is(err, sessions.ErrNoSession) {
			return found, nil, err
		}
	}
	recent, err := kept.List(ctx, sessions.Filter{Limit: 2})
	isLast := len(words) == 0 || words[0] == lastSession
	isOnly := s.isFile() && len(recent) == 1
	switch {
	case err != nil:
		return sessions.Session{}, nil, err
	case isLast && len(recent) == 0:
		return sessions.Session{}, nil, fmt.Errorf("there is no session yet in %s: %s begins one", plain.Line(kept.Path()), s.asking(""))
	case isLast:
		if !isOnly {
			s.console.say("massgen: the last session is %s", plain.Line(recent[0].ID))
		}
		return recent[0], words[min(len(words), 1):], nil
	case isOnly && len(words) <= others:
		return recent[0], words, nil
	}
	return sessions.Session{}, nil, s.checkSession(ctx, kept, words[0])
}

// checkSession returns nil if there is a session with an id. If there is none, the error names the
// nearest id.
func (s *storage) checkSession(ctx context.Context, kept *store.Store, id string) error {
	_, err := kept.Session(ctx, id)
	if !errors.Is(err, sessions.ErrNoSession) {
		return err
	}
	all, listErr := kept.List(ctx, sessions.Filter{})
	if listErr != nil {
		return listErr
	}
	var ids []string
	for _, other := range all {
		ids = append(ids, other.ID)
	}
	if near, ok := configs.Nearest(id, ids); ok {
		return fmt.Errorf("%w: did you mean %s?", err, shellWord(near))
	}
	return fmt.Errorf("%w: %s shows them", err, s.command("sessions", "list"))
}

// command returns a command on the store of this run, as a person can type it into a shell. It
// leaves out where a database is, which may have a password.
func (s *storage) command(words ...string) string {
	line := []string{s.programName()}
	for _, word := range words {
		line = append(line, shellWord(word))
	}
	return strings.Join(append(line, s.storeFlags()...), " ")
}

// asking returns the command that asks a question in the session with an id, or in a new one
// without an id.
func (s *storage) asking(id string) string {
	return s.commandOn(id) + ` "question"`
}

// commandOn returns the beginning of a command line that goes on with the session with an id.
func (s *storage) commandOn(id string) string {
	return strings.Join(append([]string{s.programName()}, s.sessionFlags(id)...), " ")
}

// finishing returns the command that finishes the interrupted turn of the session with an id. In a
// file it finishes the turn of the session that was used last.
func (s *storage) finishing(id string) string {
	if s.isFile() {
		id = ""
	}
	return s.commandOn(id) + " --continue"
}

// programName is the name of the program that this is.
func (s *storage) programName() string {
	if s.env.Cluster != nil {
		return "massgen-temporal"
	}
	return "massgen"
}

// storeFlags are the flags that name the store of this run.
func (s *storage) storeFlags() []string {
	switch flags := s.flags; {
	case isPath(flags.id):
		return []string{"--session", s.shown(flags.id)}
	case flags.stateDir != "":
		return []string{"--state-dir", s.shown(flags.stateDir)}
	}
	return nil
}

// sessionFlags are the flags that name the session with an id in the store of this run. A file has
// a flag for its session "default" and for the one that was used last, as the one with the id is.
func (s *storage) sessionFlags(id string) []string {
	flags := s.storeFlags()
	switch {
	case id == "" || s.isFile() && id == sessions.Default:
		return flags
	case s.isFile():
		return append(flags, "--continue")
	}
	return append(flags, "--session-id", shellWord(id))
}

// shown returns the value of a flag as a person can type it into a shell, without secrets.
func (s *storage) shown(value string) string { return shellWord(s.console.secrets.Redact(value)) }

// runOn runs a function on the session that words pick, for a command that takes no other
// words.
func (s *storage) runOn(ctx context.Context, command string, words []string, run func(*store.Store, sessions.Session) error) error {
	named := verb{name: plain.Line(strings.Join(words, " ")), run: func(ctx context.Context, kept *store.Store, words []string) error {
		picked, _, err := s.pick(ctx, kept, words, 0)
		if err != nil {
			return err
		}
		return run(kept, picked)
	}}
	return s.run(ctx, command, named, words)
}
