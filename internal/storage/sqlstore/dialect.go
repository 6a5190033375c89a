package sqlstore

import (
	"context"
	"time"

	"github.com/massgen/massgen/internal/system/blob"
	"github.com/massgen/massgen/sessions"
)

// Dialect has the peculiarities of one kind of database.
type Dialect struct {
	// Words are the texts that replace {word} in statements and in the schema.
	Words map[string]string
	// Search finds turns and titles with the words of the query $1. Its columns are session, the id of a row,
	// turn, a number that is 0 for a title, and id, that of the turn's row.
	Search string
	// Found are two expressions: the texts for Snippet of the turn with the row page.id.
	Found string
	// SearchFacts is the condition of a fact that has the words of the query $2.
	SearchFacts string
	// Match returns a query in the database's own language, "" if it can find nothing.
	Match func(sessions.Query) string
	// Snippet returns the text that a hit shows.
	Snippet func(q sessions.Query, first, second []byte) string
	// Index stores the words of texts for Search. Nil: triggers do.
	Index func(w *Tx, table string, rows []Indexed)
	// Orphan is called before a session's rows in refs are deleted. The returned function is
	// called after that, and deletes the texts that no turn names any more.
	Orphan func(w *Tx, session int64) (drop func())
	// Time returns a time in the form of columns.
	Time func(time.Time) any
	// MostRows is the most rows that one INSERT may add.
	MostRows int
	// Prepares reports whether preparing a statement once pays off, because connections stay open.
	Prepares bool
	Faults
}

// Indexed is a row with the texts that Search looks through.
type Indexed struct {
	ID    int64
	Texts []string
}

// Faults classifies the errors of a database.
type Faults struct {
	// Fault returns an error as one line that names the store, the operation and, if there is
	// one, the cure. It returns nil and errors of contexts unchanged.
	Fault func(doing string, err error) error
	// Passes reports whether nothing was done yet and the same operation may succeed later.
	Passes func(error) bool
	// Unsure changes the error of a commit that may have succeeded. Nil means that no commit is
	// like that.
	Unsure func(error) error
	// WhenRoom runs do, and runs it again while the database has no connection free. Nil means that it always has.
	WhenRoom func(ctx context.Context, do func() error) error
	// Patience is how long an operation with a temporary error is repeated, and Pause the time
	// between two tries.
	Patience, Pause time.Duration
}

// Holds hold sessions for turns. They are safe for concurrent use.
type Holds interface {
	// Acquire calls next with the session's last turn, and holds the session for the turn that
	// next returns. If any process holds the session, Acquire returns ErrBusy.
	Acquire(ctx context.Context, id string, next func(Last) (Running, error)) error
	// Write runs a transaction for a turn that holds its session, or returns ErrNotRunning. It
	// keeps do's changes to the turn if the transaction commits. If ends is true, the hold ends
	// with it.
	Write(ctx context.Context, what, id string, turn int, ends bool, do func(*Tx, *Running)) error
	// LetGo ends the hold of a turn, even if ctx is over. It returns false if there was none.
	LetGo(ctx context.Context, id string, turn int) (held bool, err error)
	// Alone runs a transaction while no turn holds a session, or returns ErrBusy. If erases is
	// true, it deletes texts.
	Alone(ctx context.Context, what, id string, erases bool, do func(*Tx)) error
	// Unheld runs do while no turn holds a session, or returns ErrBusy.
	Unheld(ctx context.Context, id string, do func() error) error
}

// Texts are the texts that were put and that no event names yet.
type Texts interface {
	Put(ctx context.Context, data []byte) (blob.Ref, error)
	// AtHand returns a text that takes no query, or nil. isFresh reports whether the text may not be in
	// the database yet.
	AtHand(ref blob.Ref) (data []byte, isFresh bool)
	// Named is called when an event that names texts is stored. refs has each text as often as
	// the event names it. ends reports whether their turn does not hold its session any more.
	Named(refs []blob.Ref, ends bool)
}

// Running is a turn that holds its session, with the ids of its rows, which are 0 before the
// turn is stored.
type Running struct {
	sessions.Held
	Session, Turn int64
	// Events is how many events its journal has, 0 if this is not known.
	Events int
}

// Last is a session's last turn, with the ids of its rows.
type Last struct {
	sessions.Last
	Session, Turn int64
}
