package talk

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/massgen/massgen/cmd/massgen/app/archive"
	"github.com/massgen/massgen/cmd/massgen/app/wording"
	"github.com/massgen/massgen/internal/models/attach"
	"github.com/massgen/massgen/internal/system/plain"
	"github.com/massgen/massgen/sessions"
)

// discard marks the session that is talked in as deleted, after a yes. It is deleted when the
// conversation ends: /undo can still take the deletion back, and a killed program deletes nothing.
func (d *dialogue) discard(word string) error {
	kept, err := d.s.store.Session(context.Background(), d.s.chat.id)
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
	d.s.chat = conversation{id: sessions.NewID()}
	d.s.console.Say("%s is deleted when massgen ends; /undo takes that back. A new session begins: %s.", plain.Line(kept.ID), d.s.chat.id)
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
		d.s.chat = conversation{id: sessions.NewID()}
	} else {
		made, err := d.s.store.Branch(ctx, from, last.Number-1, sessions.NewID())
		if err == nil {
			err = d.moveTo(made.ID)
		}
		if err != nil {
			return fmt.Errorf("/undo: %w", err)
		}
	}
	d.draft = attach.Cut(last.Question)
	d.s.console.Say("This goes on in %s, without turn %d. /session %s goes back to it.", d.s.chat.id, last.Number, plain.Line(from))
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
