package talk

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/massgen/massgen/cmd/massgen/app/archive"
	"github.com/massgen/massgen/cmd/massgen/app/wording"
	"github.com/massgen/massgen/internal/system/plain"
	"github.com/massgen/massgen/sessions"
)

// mostRecent is how many sessions /sessions lists.
const mostRecent = 10

// listSessions lists those that were used last.
func (d *dialogue) listSessions(string) error {
	list, err := d.s.store.List(context.Background(), sessions.Filter{Limit: mostRecent + len(d.discarded)})
	if err != nil {
		return fmt.Errorf("/sessions: %w", err)
	}
	list = slices.DeleteFunc(list, func(s sessions.Session) bool { return d.isDiscarded(s.ID) })
	list = list[:min(len(list), mostRecent)]
	if len(list) == 0 {
		d.s.console.Say("There is no session yet: a question begins this one, %s.", plain.Line(d.s.chat.id))
		return nil
	}
	left, err := archive.Interrupted(context.Background(), d.s.store)
	if err != nil {
		return fmt.Errorf("/sessions: %w", err)
	}
	d.show(wording.SessionTable(list, left))
	d.s.console.Say("This one is %s. /session ID goes on with another; %s has all.", plain.Line(d.s.chat.id), d.s.kept.Command("sessions", "list"))
	return nil
}

// goOnWith makes another session that is kept the one that is talked in.
func (d *dialogue) goOnWith(id string) error {
	if id == "" {
		return errors.New("/session: say which: /session ID; /sessions lists them")
	}
	if d.isDiscarded(id) {
		return fmt.Errorf("/session: %s is deleted: /undo takes that back", plain.Line(id))
	}
	if err := d.s.kept.CheckSession(context.Background(), d.s.store, id); err != nil {
		return fmt.Errorf("/session: %w", err)
	}
	if err := d.moveTo(id); err != nil {
		return fmt.Errorf("/session: %w", err)
	}
	d.s.console.Say("This goes on with %s, after %s.", plain.Line(id), plain.Count(d.s.chat.turns, "turn"))
	d.s.printUnended()
	return nil
}

// moveTo makes another session the one that is talked in, or leaves all as it is.
func (d *dialogue) moveTo(id string) error {
	ctx, before := context.Background(), d.s.chat
	d.s.chat = conversation{id: id}
	err := d.s.load(ctx)
	if err == nil {
		d.s.chat.remembers, err = d.s.takePanelOf(ctx, id)
	}
	if err != nil {
		d.s.chat = before
	}
	return err
}

// begin leaves the session as it is and begins another.
func (d *dialogue) begin(string) error {
	left := d.s.chat.id
	_, err := d.s.store.Session(context.Background(), left)
	empty := errors.Is(err, sessions.ErrNoSession)
	if err != nil && !empty {
		return fmt.Errorf("/new: %w", err)
	}
	d.s.chat = conversation{id: sessions.NewID()}
	back := ""
	if !empty {
		back = fmt.Sprintf(" /session %s goes back.", plain.Line(left))
	}
	d.s.console.Say("A new session begins: %s.%s", d.s.chat.id, back)
	return nil
}

// branch makes a copy of the session and goes on in that.
func (d *dialogue) branch(word string) error {
	ctx := context.Background()
	last, err := archive.LastEnded(ctx, d.s.store, d.s.chat.id)
	if errors.Is(err, sessions.ErrNoSession) {
		return errors.New("/branch: there is no turn yet: ask a question first")
	}
	if err != nil {
		return fmt.Errorf("/branch: %w", err)
	}
	after := last.Number
	if word != "" {
		if after, err = strconv.Atoi(word); err != nil || after < 1 || after > last.Number {
			return fmt.Errorf("/branch: %q is no turn to go on after: it is a number from 1 to %d", wording.Shortened(word, 40), last.Number)
		}
	}
	from := d.s.chat.id
	made, err := d.s.store.Branch(ctx, from, after, sessions.NewID())
	if err == nil {
		err = d.moveTo(made.ID)
	}
	if err != nil {
		return fmt.Errorf("/branch: %w", err)
	}
	d.s.console.Say("This goes on in %s, a copy of %s after turn %d. /session %s goes back.", made.ID, plain.Line(from), after, plain.Line(from))
	return nil
}
