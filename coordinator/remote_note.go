package coordinator

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"slices"
	"time"

	"github.com/massgen/massgen/contextbuild"
	"github.com/massgen/massgen/internal/coordination/driver"
	"github.com/massgen/massgen/internal/coordination/turn"
)

// NoteRemote is Turn.Note for a process that does not watch the turn: it adds a note to the
// turn that a Remote plays in a session. The error is sessions.ErrNoSession if no turn runs
// there.
func NoteRemote(ctx context.Context, remote Remote, store Store, session, text string) error {
	text = contextbuild.Clean(text)
	if err := CheckNote(text); err != nil {
		return err
	}
	attached, err := remote.Attach(ctx, session)
	if err != nil {
		return fmt.Errorf("note to session %s: %w", session, err)
	}
	if err := noteTo(ctx, attached, store, session, text); err != nil {
		return fmt.Errorf("note to turn %d of session %s: %w", attached.Number(), session, err)
	}
	return nil
}

// noteTo returns when the journal has the note, or the turn is over.
func noteTo(ctx context.Context, remote RemoteTurn, store Store, session, text string) error {
	masked, err := stored(ctx, store, text)
	if err != nil {
		return err
	}
	id, known := rand.Text(), 0
	isTaken := func() (bool, error) {
		events, err := readJournalFrom(ctx, store, session, remote.Number(), known)
		known += len(events)
		return haveNote(events, id), err
	}
	if _, err = isTaken(); err == nil {
		err = remote.Note(ctx, id, masked)
	}
	if err != nil {
		return err
	}
	over := make(chan error, 1)
	waiting, stop := context.WithCancel(ctx)
	read := newReadings()
	go func() {
		defer close(over)
		over <- remote.Wait(waiting, read.tell)
	}()
	defer func() {
		stop()
		for range over { // wait for the goroutine
			continue
		}
	}()
	for isOver := false; ; {
		select {
		case err = <-over:
			isOver = true
		case <-read.due:
		case <-read.rested:
			read.resume()
			continue
		}
		began := time.Now()
		if ok, readErr := isTaken(); ok || readErr != nil {
			return readErr
		}
		read.rest(time.Since(began))
		if isOver {
			return cmp.Or(err, driver.ErrOver)
		}
	}
}

// haveNote reports whether one of the events is the note with an ID.
func haveNote(events []turn.Event, id string) bool {
	return slices.ContainsFunc(events, func(ev turn.Event) bool {
		noted, ok := ev.(turn.Noted)
		return ok && noted.ID == id
	})
}
