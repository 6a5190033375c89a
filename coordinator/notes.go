package coordinator

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/massgen/massgen/contextbuild"
	"github.com/massgen/massgen/internal/coordination/driver"
	"github.com/massgen/massgen/internal/coordination/kernel"
	"github.com/massgen/massgen/internal/coordination/turn"
)

// maxNote is the most bytes of a note: every agent gets it in each of its calls.
const maxNote = 16 << 10

// CheckNote returns an error for an empty note and for one of more than maxNote bytes.
func CheckNote(text string) error {
	if strings.TrimSpace(text) == "" {
		return errors.New("the note is empty")
	}
	if len(text) > maxNote {
		return fmt.Errorf("the note has %d bytes, and the most is %d: every agent is sent it in each of its calls; shorten it", len(text), maxNote)
	}
	return nil
}

// note is a post: a person's addition to the question. Its reply is nil when the journal has the note.
type note struct {
	request
	turn *Turn
	text string
}

// Events implements driver.Post. If the store fails, only the sender of the note gets the error.
func (n *note) Events(at kernel.Time) ([]turn.Event, error) {
	v := n.turn.local.view
	if v.machine.Over() {
		n.fault = driver.ErrOver
		return nil, nil
	}
	ref, err := v.panel.opts.Store.Put(v.base, []byte(n.text))
	if err != nil {
		n.fault = err
		return nil, nil //nolint:nilerr // the note's sender gets the error, and the turn goes on
	}
	return []turn.Event{turn.Noted{At: at, Note: ref}}, nil
}

// Note adds a text to the question while the turn runs (DESIGN §4 rule 11). A running agent reads
// it in its next call, and every later step from its beginning. Answers and votes stand, and no
// agent acts again for it. Note returns when the note is in the journal. The error is
// driver.ErrOver after the end. Otherwise it names a fault of the note (CheckNote), the store or
// ctx; after an error of ctx the turn may still take the note. Notes may be added concurrently.
func (t *Turn) Note(ctx context.Context, text string) error {
	// The turn's driver journals the note as turn.Noted, and contextbuild writes it into the
	// inputs. A turn that workers play has a watcher, which passes the note on (watch.go).
	text = contextbuild.Clean(text)
	if err := CheckNote(text); err != nil {
		return err
	}
	return t.request(ctx, "note to turn "+t.ID(), func(r request) driver.Post {
		return &note{request: r, turn: t, text: text}
	})
}
