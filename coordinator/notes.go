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

// maxNote is how many bytes a note may have: every agent is sent it in each of its calls.
const maxNote = 16 << 10

// CheckNote says what is wrong with a note: an empty one and one of more than maxNote
// bytes are refused.
func CheckNote(text string) error {
	if strings.TrimSpace(text) == "" {
		return errors.New("the note is empty")
	}
	if len(text) > maxNote {
		return fmt.Errorf("the note has %d bytes, and the most is %d: every agent is sent it in each of its calls; shorten it", len(text), maxNote)
	}
	return nil
}

// note is what a person adds to the question. Its word, which is said once without
// waiting, is nil when the journal has it.
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
		return nil, nil //nolint:nilerr // it is the reply to the note, and does not end the turn
	}
	return []turn.Event{turn.Noted{At: at, Note: ref}}, nil
}

// Reply implements driver.Post.
func (n *note) Reply(err error) { n.word <- cmp.Or(err, n.fault) }

// Note adds to what was asked while the turn runs (DESIGN §4 rule 11). It goes from here into
// the inbox of the turn's driver, which journals it as turn.Noted; the machine keeps it
// (internal/turn/notes.go), and contextbuild writes it into the inputs (notes.go there).
// With workers it goes to them first (remote_note.go). An agent at work is
// told of it before its next call, every later step from its beginning; what has been
// answered and voted stands, and nobody acts again for it. It returns when the note is in
// the journal. The error is driver.ErrOver after the end, else it says what is wrong with the
// note, the store or ctx.
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
