package sessions

import (
	"context"
	"fmt"

	"github.com/massgen/massgen/internal/blob"
	"github.com/massgen/massgen/internal/kernel"
)

// Backing keeps what a Store works with. It is safe for concurrent use. Store checks what it
// passes on: ids, titles, metadata, facts and ends of turns. storetest judges a Backing
// through its Store.
type Backing interface {
	Turns
	Records
}

// Turns is what a turn needs: its texts, its journal, and the hold of its session.
type Turns interface {
	texts
	journals
	// Leave ends the hold of a turn, even if ctx is over. It returns false if there was none.
	// The texts that nobody names, and that no running turn can have put, are forgotten.
	Leave(ctx context.Context, id string, turn int) (held bool, err error)
}

type texts interface {
	// Put stores a text, or keeps it until an event names it. The caller may change data
	// afterwards.
	Put(ctx context.Context, data []byte) (blob.Ref, error)
	// Get returns a text, or ErrNoText. The caller must not change it.
	Get(ctx context.Context, ref blob.Ref) ([]byte, error)
}

type journals interface {
	// Hold holds a session for the turn that next makes of the session's last one. If any
	// process holds the session, Hold returns ErrBusy. next may run more than once.
	Hold(ctx context.Context, id string, next func(Last) (Held, error)) error
	// Append applies, in one transaction, the change that do makes of a turn that holds its
	// session, and keeps what do changes of the turn. A nil change is none. If ends is true,
	// the hold ends with it. What the transaction is for goes into errors. Append returns
	// ErrNotRunning if the turn does not hold its session. do may run more than once.
	Append(ctx context.Context, what, id string, turn int, ends bool, do func(*Held) (*Change, error)) error
	// Journal returns the events of a turn, from a place on, which counts from 0. A turn that
	// is not there has none.
	Journal(ctx context.Context, id string, turn, from int) ([][]byte, error)
}

// Records is what people look up, and what is done with whole sessions.
type Records interface {
	lists
	wholes
	changes
}

type lists interface {
	// List returns the sessions that f chooses, those first that were used last.
	List(ctx context.Context, f Filter) ([]Session, error)
	// Last returns a session's last turns, oldest first; last 0 means all. A session that is
	// not there has none. If isIdle is true, Last returns only a turn that is running by its
	// status, and that nobody works on.
	Last(ctx context.Context, id string, last int, isIdle bool) ([]Turn, error)
	// Search returns where the words of q are, which has some, in the order of List.
	Search(ctx context.Context, q Query, limit int) ([]Hit, error)
}

type wholes interface {
	copies
	// Delete removes a session, with the texts that no other names, or returns ErrNoSession.
	// While the session is held, Delete returns ErrBusy.
	Delete(ctx context.Context, id string) error
}

type copies interface {
	// Dump returns a session as it is at one moment, or ErrNoSession.
	Dump(ctx context.Context, id string) (*Dump, error)
	// Load adds a session that fits together, or returns ErrExists. While its id is held, Load
	// returns ErrBusy.
	Load(ctx context.Context, what string, d *Dump) error
	// Copy adds, in one transaction, the session to, which next makes of another one, from, and
	// of the status of one of its turns, "" if it has no such turn. The new session gets from's
	// turns up to that one, without their journals, and its sums but for the usage. A turn names
	// its own texts, its list of messages, and what of the texts in the list is stored. Copy
	// returns ErrNoSession or ErrExists, and ErrBusy while to is held. next may run more than once.
	Copy(ctx context.Context, what, from string, turn int, to string, next func(from Session, status kernel.Status) (Session, error)) error
}

type changes interface {
	// Set changes a session's title, unless title is nil, and the metadata that it names. An
	// empty value removes its key.
	Set(ctx context.Context, id string, title *string, metadata map[string]string) error
	facts
	upkeep
}

type facts interface {
	AddFact(ctx context.Context, user, text string) (Fact, error)
	// Facts returns those of a user that have the words of q, all for nil, oldest first.
	Facts(ctx context.Context, user string, q Query) ([]Fact, error)
	Forget(ctx context.Context, id int64) error
}

type upkeep interface {
	Compact(ctx context.Context) error
	Check(ctx context.Context) error
}

// Last is a session's last turn. All of it is zero for a session that is not there.
type Last struct {
	Number   int
	Status   kernel.Status
	Question string
	// History is the newest link of the session.
	History blob.Ref
}

// Begun returns what the holder of a session is told for a turn.
func (last Last) Begun(turn int) Begun {
	b := Begun{Turn: turn, History: last.History}
	if last.Status == Running && last.Number < turn {
		b.Interrupted = last.Number
	}
	return b
}

// Held is a turn that holds its session.
type Held struct {
	Number   int
	Question string
	// History is the newest link before the turn.
	History blob.Ref
	// Cut is the usage of the interrupted turn that this one abandons.
	Cut Usage
	// Stored says that the store has the turn, Committed that it has its outcome too.
	Stored, Committed bool
}

// Change is what one transaction adds to a turn. The first one of a turn also stores the turn,
// with its session if that is new, and ends the interrupted turn before it, whose usage is
// Held.Cut.
type Change struct {
	Events [][]byte
	// At is the place in the journal where Events begin, nil for its end.
	At *int
	// Texts are stored. The turn names these and Names, which must be stored already.
	Texts [][]byte
	Names []blob.Ref
	// Outcome is what the turn came to, without its times, or nil. The turn names also its list
	// of messages, which must be stored, and what of the texts in the list is stored.
	Outcome *Turn
	// Title is for a session that has none.
	Title string
	// Later is usage that follows the outcome, or nil.
	Later *Usage
}

// Rest returns the events that a journal lacks which has so many events: those whose places
// are taken are left out. A gap is an error.
func (c *Change) Rest(id string, turn, end int) ([][]byte, error) {
	at := end
	if c.At != nil {
		at = *c.At
	}
	if at < 0 || at > end {
		return nil, fmt.Errorf("event %d of turn %d of session %s cannot be written: the journal has %d events, from 0", at, turn, id, end)
	}
	return c.Events[min(len(c.Events), end-at):], nil
}
