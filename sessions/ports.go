package sessions

import (
	"context"
	"fmt"
	"time"

	"github.com/massgen/massgen/internal/coordination/kernel"
	"github.com/massgen/massgen/internal/system/blob"
)

// Backing keeps the data of a Store. It is safe for concurrent use. Store checks everything
// that it passes on: ids, titles, metadata, facts and ends of turns. storetest tests a Backing
// through its Store.
type Backing interface {
	Turns
	Records
}

// Turns has the operations that a turn needs: its texts, its journal, and the hold of its
// session.
type Turns interface {
	// Put stores a text, and keeps it at least until an event names it. The caller may change
	// data afterwards.
	Put(ctx context.Context, data []byte) (blob.Ref, error)
	// Get returns a text, or ErrNoText. The caller must not change it.
	Get(ctx context.Context, ref blob.Ref) ([]byte, error)
	// Hold calls next with the session's last turn, and holds the session for the turn that
	// next returns. If any process holds the session, Hold returns ErrBusy. next may run more
	// than once.
	Hold(ctx context.Context, id string, next func(Last) (Held, error)) error
	// Append applies a change to a turn that holds its session, in one transaction. do receives
	// the turn and returns the change, or nil for none; Append also stores the fields of the
	// turn that do sets. If ends is true, the hold ends with it. Errors say what the
	// transaction is for. Append returns ErrNotRunning if the turn does not hold its session.
	// do may run more than once.
	Append(ctx context.Context, what, id string, turn int, ends bool, do func(*Held) (*Change, error)) error
	// Journal returns the events of a turn from a place on, counted from 0. A missing turn has
	// none.
	Journal(ctx context.Context, id string, turn, from int) ([][]byte, error)
	// Leave ends the hold of a turn, even if ctx is over. It returns false if there was none.
	// It deletes the texts that no turn names and that no running turn can have put.
	Leave(ctx context.Context, id string, turn int) (held bool, err error)
}

// Records has the lookups and the operations on whole sessions.
type Records interface {
	// List returns the sessions that f chooses, the most recently used first.
	List(ctx context.Context, f Filter) ([]Session, error)
	// Last returns a session's last turns, oldest first; last 0 means all. A missing session
	// has none. If isIdle is true, Last returns only a turn with the status running that no
	// process works on.
	Last(ctx context.Context, id string, last int, isIdle bool) ([]Turn, error)
	// Search returns the places where the words of q are found in the sessions that f chooses, in
	// the order of List. q is not empty.
	Search(ctx context.Context, q Query, f Filter) ([]Hit, error)
	// Totals returns the sums over the sessions that f chooses.
	Totals(ctx context.Context, f Filter) (Totals, error)
	// Dump returns a session as it is at one moment, or ErrNoSession.
	Dump(ctx context.Context, id string) (*Dump, error)
	// Load adds a consistent session, or returns ErrExists. While its id is held, Load returns
	// ErrBusy.
	Load(ctx context.Context, what string, d *Dump) error
	// Copy adds the session to, a branch of from, in one transaction. next makes it from the
	// session from and the status of the given turn, "" if from has no such turn. The new
	// session gets from's turns up to that one, without their journals, and its sums except the
	// usage. Each turn names its own texts, its list of messages, and the stored texts of that
	// list. Copy returns ErrNoSession or ErrExists, and ErrBusy while to is held. next may run
	// more than once.
	Copy(ctx context.Context, what, from string, turn int, to string, next func(from Session, status kernel.Status) (Session, error)) error
	// Delete removes a session, with the texts that no other session names, or returns
	// ErrNoSession. While the session is held, Delete returns ErrBusy. Unless unusedSince is zero,
	// Delete returns ErrUsed for a session that was used at that time or later.
	Delete(ctx context.Context, id string, unusedSince time.Time) error
	// Set changes a session's title, unless title is nil, and the given metadata. An empty
	// value removes its key.
	Set(ctx context.Context, id string, title *string, metadata map[string]string) error
	AddFact(ctx context.Context, user, text string) (Fact, error)
	// Facts returns the facts of a user that have the words of q, or all facts if q is nil,
	// oldest first.
	Facts(ctx context.Context, user string, q Query) ([]Fact, error)
	Forget(ctx context.Context, id int64) error
	Compact(ctx context.Context) error
	Check(ctx context.Context) error
}

// Last is a session's last turn. It is zero for a missing session.
type Last struct {
	Number   int
	Status   kernel.Status
	Question string
	// History is the newest link of the session.
	History blob.Ref
}

// Begun returns the Begun for a turn of the session.
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
	// Stored reports whether the store has the turn, Committed whether it has its outcome too.
	Stored, Committed bool
}

// Change is what one transaction adds to a turn. The first one of a turn also stores the turn,
// with its session if that is new, and ends the interrupted turn before it, whose usage is
// Held.Cut.
type Change struct {
	// Events belong to the backing from now on.
	Events [][]byte
	// At is the place in the journal where Events begin, nil for its end.
	At *int
	// Texts are stored. The turn names these and Names, which must be stored already.
	Texts [][]byte
	Names []blob.Ref
	// Metadata is set if the change is the first one of its turn.
	Metadata map[string]string
	// Outcome is the result of the turn, without its times, or nil. The turn also names its
	// list of messages, which must be stored, and the stored texts of that list.
	Outcome *Turn
	// Title is the title for a session that has none.
	Title string
	// Later is the usage of calls after the outcome, or nil.
	Later *Usage
}

// Rest returns the events that a journal with end events lacks; it omits events whose places
// are taken. A gap is an error.
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
