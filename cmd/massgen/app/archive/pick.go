package archive

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/massgen/massgen/cmd/massgen/app/cmdline"
	"github.com/massgen/massgen/cmd/massgen/app/wording"
	"github.com/massgen/massgen/configs"
	"github.com/massgen/massgen/internal/storage/store"
	"github.com/massgen/massgen/internal/system/plain"
	"github.com/massgen/massgen/sessions"
)

// Pick returns the session that the first of words names, and the other words. The word "last", or
// no word, stands for the session that was used last. With --session FILE the id may be missing
// before other words too, of which there are at most others, if the file has one session only.
func (s *Archive) Pick(ctx context.Context, kept *store.Store, words []string, others int) (sessions.Session, []string, error) {
	if len(words) > 0 {
		found, err := kept.Sessions.Session(ctx, words[0])
		if err == nil {
			return found, words[1:], nil
		}
		if !errors.Is(err, sessions.ErrNoSession) {
			return found, nil, err
		}
	}
	recent, err := kept.Sessions.List(ctx, sessions.Filter{Limit: 2})
	isLast := len(words) == 0 || words[0] == cmdline.LastSession
	isOnly := s.IsFile() && len(recent) == 1
	switch {
	case err != nil:
		return sessions.Session{}, nil, err
	case isLast && len(recent) == 0:
		return sessions.Session{}, nil, fmt.Errorf("there is no session yet in %s: %s begins one", plain.Line(kept.Path()), s.Asking(""))
	case isLast:
		if !isOnly {
			s.console.Say("massgen: the last session is %s", plain.Line(recent[0].ID))
		}
		return recent[0], words[min(len(words), 1):], nil
	case isOnly && len(words) <= others:
		return recent[0], words, nil
	}
	return sessions.Session{}, nil, s.CheckSession(ctx, kept, words[0])
}

// mostNear is among how many sessions, the last used ones, a mistyped id is looked for.
const mostNear = 500

// CheckSession returns nil if there is a session with an id. If there is none, the error names the
// nearest id.
func (s *Archive) CheckSession(ctx context.Context, kept *store.Store, id string) error {
	_, err := kept.Sessions.Session(ctx, id)
	if !errors.Is(err, sessions.ErrNoSession) {
		return err
	}
	all, listErr := kept.Sessions.List(ctx, sessions.Filter{Limit: mostNear})
	if listErr != nil {
		return listErr
	}
	var ids []string
	for _, other := range all {
		ids = append(ids, other.ID)
	}
	if near, ok := configs.Nearest(id, ids); ok {
		return fmt.Errorf("%w: did you mean %s?", err, wording.ShellWord(near))
	}
	return fmt.Errorf("%w: %s shows them", err, s.Command("sessions", "list"))
}

// Command returns a command on the store of this run, as a person can type it into a shell. It
// leaves out where a database is, which may have a password.
func (s *Archive) Command(words ...string) string {
	line := []string{s.ProgramName()}
	for _, word := range words {
		line = append(line, wording.ShellWord(word))
	}
	return strings.Join(append(line, s.storeFlags()...), " ")
}

// Asking returns the command that asks a question in the session with an id, or in a new one
// without an id.
func (s *Archive) Asking(id string) string {
	return s.CommandOn(id) + ` "question"`
}

// CommandOn returns the beginning of a command line that goes on with the session with an id.
func (s *Archive) CommandOn(id string) string {
	return strings.Join(append([]string{s.ProgramName()}, s.SessionFlags(id)...), " ")
}

// Finishing returns the command that finishes the interrupted turn of the session with an id. In a
// file it finishes the turn of the session that was used last.
func (s *Archive) Finishing(id string) string {
	if s.IsFile() {
		id = ""
	}
	return s.CommandOn(id) + " --continue"
}

// ProgramName is the name of the program that this is.
func (s *Archive) ProgramName() string {
	if s.env.Cluster != nil {
		return "massgen-temporal"
	}
	return "massgen"
}

// storeFlags are the flags that name the store of this run.
func (s *Archive) storeFlags() []string {
	switch flags := s.flags; {
	case cmdline.IsPath(flags.ID):
		return []string{"--session", s.Shown(flags.ID)}
	case flags.StateDir != "":
		return []string{"--state-dir", s.Shown(flags.StateDir)}
	}
	return nil
}

// SessionFlags are the flags that name the session with an id in the store of this run. A file has
// a flag for its session "default" and for the one that was used last, as the one with the id is.
func (s *Archive) SessionFlags(id string) []string {
	flags := s.storeFlags()
	switch {
	case id == "" || s.IsFile() && id == sessions.Default:
		return flags
	case s.IsFile():
		return append(flags, "--continue")
	}
	return append(flags, "--session-id", wording.ShellWord(id))
}

// Shown returns the value of a flag as a person can type it into a shell, without secrets.
func (s *Archive) Shown(value string) string {
	return wording.ShellWord(s.console.Secrets.Redact(value))
}

// RunOn runs a function on the session that words pick, for a command that takes no other
// words.
func (s *Archive) RunOn(ctx context.Context, command string, words []string, run func(*store.Store, sessions.Session) error) error {
	named := Verb{Name: plain.Line(strings.Join(words, " ")), Run: func(ctx context.Context, kept *store.Store, words []string) error {
		picked, _, err := s.Pick(ctx, kept, words, 0)
		if err != nil {
			return err
		}
		return run(kept, picked)
	}}
	return s.Run(ctx, command, named, words)
}
