package sqlstore

import (
	"context"
	"time"

	"github.com/massgen/massgen/internal/blob"
	"github.com/massgen/massgen/sessions"
)

// Dialect is what one kind of database does in its own way.
type Dialect struct {
	// Words are the texts that stand for {word} in statements and in the schema.
	Words map[string]string
	// Search finds turns and titles with the words of the query $1. Its
	// columns are a session's name and title, a turn, and two texts for Snippet.
	Search string
	// SearchFacts is the condition of a fact that has the words of the query $2.
	SearchFacts string
	// Match returns a query in the database's own language, "" if it can find nothing.
	Match func(sessions.Query) string
	// Snippet returns what a hit shows.
	Snippet func(q sessions.Query, first, second []byte) string
	// Index stores the words of texts for Search. Nil: triggers do.
	Index func(w *Tx, table string, rows []Indexed)
	// Orphan is called before a session's rows in refs are deleted. It calls what it returns
	// afterwards, which deletes the texts that nothing names any more.
	Orphan func(w *Tx, session int64) (drop func())
	// Time returns a time as columns keep it.
	Time func(time.Time) any
	// MostRows is how many rows one INSERT may add.
	MostRows int
	// Prepares says that statements are worth preparing once: connections stay.
	Prepares bool
	Faults
}

// Indexed is a row with the texts by which Search finds it.
type Indexed struct {
	ID    int64
	Texts []string
}

// Faults is how errors of a database are treated.
type Faults struct {
	// Fault returns an error as one line that names the store, what was being done and, if
	// there is one, the cure. It returns nil and errors of contexts as they are.
	Fault func(doing string, err error) error
	// Passes says that nothing was done yet and that the same may succeed when it is done again.
	Passes func(error) bool
	// Unsure changes the error of a commit of which nobody knows whether it was done. Nil: no
	// commit is like that.
	Unsure func(error) error
	// Patience is how long something is tried again that fails by what passes, and Pause the
	// time between two tries.
	Patience, Pause time.Duration
}

// Holds hold sessions for turns. They are safe for concurrent use.
type Holds interface {
	// Take holds a session for the turn that next makes of the session's last one. A session
	// that is held, in any process, is ErrBusy.
	Take(ctx context.Context, id string, next func(Last) (Running, error)) error
	// Write runs a transaction for a turn that holds its session, ErrNotRunning if it does not.
	// What do changes of the turn is kept when the transaction is. If ends is true, the hold
	// ends with it.
	Write(ctx context.Context, what, id string, turn int, ends bool, do func(*Tx, *Running)) error
	// LetGo ends the hold of a turn, even if ctx is over. It returns false if there was none.
	LetGo(ctx context.Context, id string, turn int) (held bool, err error)
}

// Quiet runs what no running turn may be in the way of. Both return ErrBusy if one is.
type Quiet interface {
	// Alone runs a transaction while nobody holds a session. If erases is true, it deletes texts.
	Alone(ctx context.Context, what, id string, erases bool, do func(*Tx)) error
	// Unheld runs do while nobody holds a session.
	Unheld(ctx context.Context, id string, do func() error) error
}

// Texts are the texts that were put and that no event names yet.
type Texts interface {
	Put(ctx context.Context, data []byte) (blob.Ref, error)
	// Fresh returns a text that may not be in the database yet, or nil.
	Fresh(ref blob.Ref) []byte
	// Named is called when an event is stored that names texts, each as often as it stands there.
	Named(refs []blob.Ref)
}

// Running is a turn that holds its session, with the ids of its rows, which are 0 before the
// turn is stored.
type Running struct {
	sessions.Held
	Session, Turn int64
}

// Last is a session's last turn, with the ids of its rows.
type Last struct {
	sessions.Last
	Session, Turn int64
}
