package coordinator

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/massgen/massgen/contextbuild"
	"github.com/massgen/massgen/internal/driver"
	"github.com/massgen/massgen/internal/kernel"
	"github.com/massgen/massgen/internal/turn"
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

// note is a person's addition to the question. Its word channel gets one reply without
// blocking, nil when the journal has the note.
type note struct {
	unheard
	turn  *Turn
	text  string
	word  chan<- error
	fault error
}

// Events implements driver.Post. A note that cannot be stored costs the turn nothing.
func (n *note) Events(at kernel.Time) ([]turn.Event, error) {
	e := n.turn.local
	if e.machine.Over() {
		n.fault = driver.ErrOver
		return nil, nil
	}
	ref, err := e.panel.opts.Store.Put(e.base, []byte(n.text))
	if err != nil {
		n.fault = err
		return nil, nil //nolint:nilerr // the note's sender gets the error, and the turn goes on
	}
	return []turn.Event{turn.Noted{At: at, Note: ref}}, nil
}

// Reply implements driver.Post.
func (n *note) Reply(err error) { n.word <- cmp.Or(err, n.fault) }

// Note adds a text to the question while the turn runs (DESIGN §4 rule 11). The inbox takes the
// note to the turn's driver, which journals it as turn.Noted; the machine keeps it
// (internal/turn/notes.go), and contextbuild writes it into the inputs (notes.go there). With
// workers, the note goes to them first (remote_note.go). A running agent reads it in its next
// call, every later step from its beginning; answers and votes stand, and no agent acts again
// for it. Note returns when the note is in the journal. The error is driver.ErrOver after the
// end. Otherwise it names a fault of the note, the store or ctx.
func (t *Turn) Note(ctx context.Context, text string) error {
	text = contextbuild.Clean(text)
	if err := CheckNote(text); err != nil {
		return err
	}
	word := make(chan error, 1)
	t.inbox.put(&note{turn: t, text: text, word: word})
	if err := heard(ctx, word); err != nil {
		return fmt.Errorf("note to turn %s: %w", t.ID(), err)
	}
	return nil
}
