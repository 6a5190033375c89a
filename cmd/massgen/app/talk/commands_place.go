package talk

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/massgen/massgen/cmd/massgen/app/archive"
	"github.com/massgen/massgen/cmd/massgen/app/wording"
	"github.com/massgen/massgen/internal/models/attach"
	"github.com/massgen/massgen/internal/system/plain"
	"github.com/massgen/massgen/sessions"
)

// mostRecent is how many sessions /sessions lists.
const mostRecent = 10

// listSessions lists those that were used last.
func (d *dialogue) listSessions(string) error {
	list, err := d.s.store.Sessions.List(context.Background(), sessions.Filter{Limit: mostRecent + len(d.discarded)})
	if err != nil {
		return fmt.Errorf("/sessions: %w", err)
	}
	list = slices.DeleteFunc(list, func(s sessions.Session) bool { return d.isDiscarded(s.ID) })
	list = list[:min(len(list), mostRecent)]
	if len(list) == 0 {
		d.s.console.Say("There is no session yet: a question begins this one, %s.", plain.Line(d.s.chat.id))
		return nil
	}
	left, err := archive.Interrupted(context.Background(), d.s.store, sessions.Filter{Limit: mostRecent + len(d.discarded)})
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

// freshID returns the id of a new session of the same user, which is not about the same topic.
func freshID(like string) string { return sessions.NewIDLike(like, "topic") }

// begin leaves the session as it is and begins another.
func (d *dialogue) begin(string) error {
	left := d.s.chat.id
	_, err := d.s.store.Sessions.Session(context.Background(), left)
	empty := errors.Is(err, sessions.ErrNoSession)
	if err != nil && !empty {
		return fmt.Errorf("/new: %w", err)
	}
	d.s.chat = conversation{id: freshID(left)}
	back := ""
	if !empty {
		back = fmt.Sprintf(" /session %s goes back.", plain.Line(left))
	}
	d.s.console.Say("A new session begins: %s.%s", plain.Line(d.s.chat.id), back)
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
	made, err := d.s.store.Sessions.Branch(ctx, from, after, sessions.NewIDLike(from))
	if err == nil {
		err = d.moveTo(made.ID)
	}
	if err != nil {
		return fmt.Errorf("/branch: %w", err)
	}
	d.s.console.Say("This goes on in %s, a copy of %s after turn %d. /session %s goes back.", plain.Line(made.ID), plain.Line(from), after, plain.Line(from))
	return nil
}

// discard marks the session that is talked in as deleted, after a yes. It is deleted when the
// conversation ends: /undo can still take the deletion back, and a killed program deletes nothing.
func (d *dialogue) discard(word string) error {
	kept, err := d.s.store.Sessions.Session(context.Background(), d.s.chat.id)
	switch {
	case errors.Is(err, sessions.ErrNoSession):
		return errors.New("/delete: there is nothing in this session yet")
	case err != nil:
		return fmt.Errorf("/delete: %w", err)
	case word == "":
		d.s.console.Say("This deletes %s, with %s: /delete yes does it.", plain.Line(d.s.chat.id), plain.Count(kept.Turns, "turn"))
		return nil
	case word != "yes":
		return fmt.Errorf("/delete: %q is no yes: /delete yes deletes this session, %s another", wording.Shortened(word, 40), d.s.kept.Command("sessions", "delete", "ID"))
	}
	d.discarded = append(d.discarded, d.s.chat.id)
	d.s.chat = conversation{id: freshID(kept.ID)}
	d.s.console.Say("%s is deleted when massgen ends; /undo takes that back. A new session begins: %s.", plain.Line(kept.ID), plain.Line(d.s.chat.id))
	return nil
}

// undo goes on without the last turn: in a copy of the session as it was before, or in a new one
// before the first. In a session that has no turn it goes back to the one that was deleted last.
func (d *dialogue) undo(string) error {
	ctx := context.Background()
	last, _, err := archive.LastTurn(ctx, d.s.store, d.s.chat.id)
	isEmpty := errors.Is(err, sessions.ErrNoSession) || err == nil && last.Number == 0
	switch {
	case isEmpty && len(d.discarded) > 0:
		return d.undelete()
	case isEmpty:
		return errors.New("/undo: there is no turn yet, and nothing was deleted")
	case err != nil:
		return fmt.Errorf("/undo: %w", err)
	}
	from := d.s.chat.id
	if last.Number == 1 {
		d.s.chat = conversation{id: sessions.NewIDLike(from)}
	} else {
		made, err := d.s.store.Sessions.Branch(ctx, from, last.Number-1, sessions.NewIDLike(from))
		if err == nil {
			err = d.moveTo(made.ID)
		}
		if err != nil {
			return fmt.Errorf("/undo: %w", err)
		}
	}
	d.draft = attach.Cut(last.Question)
	d.s.console.Say("This goes on in %s, without turn %d. /session %s goes back to it.", plain.Line(d.s.chat.id), last.Number, plain.Line(from))
	return nil
}

// undelete goes back to the session that was deleted last.
func (d *dialogue) undelete() error {
	last := len(d.discarded) - 1
	id := d.discarded[last]
	if err := d.moveTo(id); err != nil {
		return fmt.Errorf("/undo: %w", err)
	}
	d.discarded = d.discarded[:last]
	d.s.console.Say("%s is kept. This goes on with it, after %s.", plain.Line(id), plain.Count(d.s.chat.turns, "turn"))
	return nil
}

// isDiscarded reports whether a session exists only for /undo.
func (d *dialogue) isDiscarded(id string) bool { return slices.Contains(d.discarded, id) }

// empty deletes the discarded sessions.
func (d *dialogue) empty(ctx context.Context) error {
	var failed error
	for _, id := range d.discarded {
		err := archive.DeleteSession(ctx, d.s.store, id)
		if err != nil && !errors.Is(err, sessions.ErrNoSession) {
			failed = errors.Join(failed, fmt.Errorf("/delete: %w", err))
		}
	}
	return failed
}
