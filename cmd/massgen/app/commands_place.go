package app

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/massgen/massgen/sessions"
)

// mostRecent is how many sessions /sessions lists.
const mostRecent = 10

// listSessions lists those that were used last.
func (s *session) listSessions(string) error {
	list, err := s.store.List(context.Background(), sessions.Filter{Limit: mostRecent})
	if err != nil {
		return fmt.Errorf("/sessions: %w", err)
	}
	if len(list) == 0 {
		s.console.say("There is no session yet: a question begins this one, %s.", oneLine(s.id))
		return nil
	}
	s.show(sessionTable(list))
	s.console.say("This one is %s. /session ID goes on with another; massgen sessions list has all.", oneLine(s.id))
	return nil
}

// goOnWith makes another session that is kept the one that is talked in.
func (s *session) goOnWith(id string) error {
	if id == "" {
		return errors.New("/session: say which: /session ID; /sessions lists them")
	}
	if _, err := sessionOf(context.Background(), s.store, id); err != nil {
		return fmt.Errorf("/session: %w", err)
	}
	if err := s.moveTo(id); err != nil {
		return fmt.Errorf("/session: %w", err)
	}
	s.console.say("This goes on with %s, after %s.", oneLine(id), count(s.turns, "turn"))
	s.tellUnended()
	return nil
}

// moveTo makes another session the one that is talked in, or leaves all as it is.
func (s *session) moveTo(id string) error {
	before := s.place
	s.place = place{id: id}
	err := s.load(context.Background())
	if err != nil {
		s.place = before
	}
	return err
}

// begin leaves the session as it is and begins another.
func (s *session) begin(string) error {
	left := s.id
	_, err := s.store.Session(context.Background(), left)
	empty := errors.Is(err, sessions.ErrNoSession)
	if err != nil && !empty {
		return fmt.Errorf("/new: %w", err)
	}
	s.place = place{id: sessions.NewID()}
	back := ""
	if !empty {
		back = fmt.Sprintf(" /session %s goes back.", oneLine(left))
	}
	s.console.say("A new session begins: %s.%s", s.id, back)
	return nil
}

// branch makes a copy of the session and goes on in that.
func (s *session) branch(word string) error {
	ctx := context.Background()
	last, err := lastEnded(ctx, s.store, s.id)
	if errors.Is(err, sessions.ErrNoSession) {
		return errors.New("/branch: there is no turn yet: ask a question first")
	}
	if err != nil {
		return fmt.Errorf("/branch: %w", err)
	}
	after := last
	if word != "" {
		if after, err = strconv.Atoi(word); err != nil || after < 1 || after > last {
			return fmt.Errorf("/branch: %q is no turn to go on after: it is a number from 1 to %d", shortened(word, 40), last)
		}
	}
	from := s.id
	made, err := s.store.Branch(ctx, from, after, sessions.NewID())
	if err == nil {
		err = s.moveTo(made.ID)
	}
	if err != nil {
		return fmt.Errorf("/branch: %w", err)
	}
	s.console.say("This goes on in %s, a copy of %s after turn %d. /session %s goes back.", made.ID, oneLine(from), after, oneLine(from))
	return nil
}
