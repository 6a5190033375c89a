package coordinator

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/massgen/massgen/agents"
	"github.com/massgen/massgen/contextbuild"
	"github.com/massgen/massgen/coordinator/driver"
	"github.com/massgen/massgen/coordinator/kernel"
	"github.com/massgen/massgen/coordinator/turn"
)

// MaxNote is how many bytes a note may have: every agent is sent it in each of its calls.
const MaxNote = 16 << 10

// ResultNote is what a person has added to the question while the turn ran. SeenBy counts
// the agents one of whose calls was sent it and came back with a message.
type ResultNote struct {
	Text   string `json:"text"`
	SeenBy int    `json:"seen_by"`
}

// CheckNote says what is wrong with a note: an empty one and one of more than MaxNote
// bytes are refused.
func CheckNote(text string) error {
	if strings.TrimSpace(text) == "" {
		return errors.New("the note is empty")
	}
	if len(text) > MaxNote {
		return fmt.Errorf("the note has %d bytes, and the most is %d: every agent is sent it in each of its calls; shorten it", len(text), MaxNote)
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
	e := n.turn.engine
	if e.machine.Over() {
		n.fault = driver.ErrOver
		return nil, nil
	}
	var ref kernel.Ref
	if ref, n.fault = e.panel.opts.Store.Put(e.base, []byte(n.text)); n.fault != nil {
		return nil, nil
	}
	return []turn.Event{turn.Noted{At: at, Note: ref}}, nil
}

// Reply implements driver.Post.
func (n *note) Reply(err error) { n.word <- cmp.Or(err, n.fault) }

// Note adds to what was asked while the turn runs (DESIGN §4 rule 11). An agent at work is
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

// tellNote tells of a note that was taken, also to whom it was passed on for. One that
// cannot be read is told without its text: the loop finds out itself that the store does
// not work.
func (e *engine) tellNote(ref kernel.Ref) {
	if i := slices.IndexFunc(e.passed, func(p passedNote) bool { return p.ref == ref }); i >= 0 {
		e.passed[i].word <- nil
		e.passed = slices.Delete(e.passed, i, i+1)
	}
	text, err := e.panel.opts.Store.Get(e.base, ref)
	if err != nil {
		text = nil
	}
	e.turn.events.add(Event{Kind: Noted, Text: string(text)})
}

// describeNotes reads the notes of a turn.
func describeNotes(ctx context.Context, blobs agents.Blobs, notes []turn.Note) ([]ResultNote, error) {
	list := []ResultNote{}
	for _, n := range notes {
		text, err := blobs.Get(ctx, n.Text)
		if err != nil {
			return nil, fmt.Errorf("read a note: %w", err)
		}
		list = append(list, ResultNote{string(text), n.SeenBy})
	}
	return list, nil
}

func (e *engine) notes() ([]ResultNote, error) {
	list, err := describeNotes(e.base, e.panel.opts.Store, e.machine.Notes())
	if err != nil {
		return nil, fmt.Errorf("turn %s: %w", e.turn.ID(), err)
	}
	return list, nil
}

// unseen warns of notes that came too late for everybody.
func unseen(notes []turn.Note) []string {
	count := 0
	for _, n := range notes {
		if n.SeenBy == 0 {
			count++
		}
	}
	switch count {
	case 0:
		return nil
	case 1:
		return []string{"a note was seen by no agent: no call was made after it that came back"}
	}
	return []string{fmt.Sprintf("%d notes were seen by no agent: no call was made after them that came back", count)}
}

// KeptNotes returns the notes of a turn from its journal, as its Result has them, whatever
// became of the turn. A turn of a branch has no journal, and so none. The error says that
// the store does not work, or that the journal is damaged or of another version.
func KeptNotes(ctx context.Context, store Store, session string, number int) ([]ResultNote, error) {
	list, err := keptNotes(ctx, store, session, number)
	if err != nil {
		return nil, fmt.Errorf("read the notes of turn %d of session %s: %w", number, session, err)
	}
	return list, nil
}

func keptNotes(ctx context.Context, store Store, session string, number int) ([]ResultNote, error) {
	events, err := readJournal(ctx, store, session, number)
	if err != nil || countNotes(events, nil) == 0 {
		return []ResultNote{}, err
	}
	m, err := played(events)
	if err != nil {
		return nil, err
	}
	return describeNotes(ctx, store, m.Notes())
}

// countNotes counts the notes in a journal that are a text, or all.
func countNotes(events []turn.Event, text *kernel.Ref) (n int) {
	for _, ev := range events {
		if noted, ok := ev.(turn.Noted); ok && (text == nil || noted.Note == *text) {
			n++
		}
	}
	return n
}
