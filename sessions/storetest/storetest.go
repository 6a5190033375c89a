// Package storetest is the suite that every store of sessions must pass.
package storetest

import (
	"context"
	"io"
	"testing"

	"github.com/massgen/massgen/internal/blob"
	"github.com/massgen/massgen/internal/budget"
	"github.com/massgen/massgen/sessions"
)

// Store is all that a store does.
type Store interface {
	Working
	Looking
	Keeping
}

// Working is what a turn needs.
type Working interface {
	Holding
	Journals
	Texts
}

// Holding is what holds a session, and lets go of it.
type Holding interface {
	Turns
	Unfinished
}

// Turns begin and end.
type Turns interface {
	Begin(ctx context.Context, id, question string) (sessions.Begun, error)
	Commit(ctx context.Context, id string, turn int, ended sessions.Ended) error
	End(ctx context.Context, id string, turn int, ended sessions.Ended) error
}

// Journals are what happened in turns.
type Journals interface {
	Append(ctx context.Context, id string, turn int, events ...[]byte) error
	Journal(ctx context.Context, id string, turn, from int) ([][]byte, error)
}

// Unfinished are turns that have no end.
type Unfinished interface {
	Resume(ctx context.Context, id string) (sessions.Begun, error)
	Leave(ctx context.Context, id string, turn int) error
	NoteCut(ctx context.Context, id string, turn int, u budget.Usage) error
}

// Texts are what turns refer to.
type Texts interface {
	Put(ctx context.Context, data []byte) (blob.Ref, error)
	Get(ctx context.Context, ref blob.Ref) ([]byte, error)
}

// Looking is what changes nothing, and the facts.
type Looking interface {
	Sessions
	Histories
	Recall
}

// Sessions are found by their ids and by what is known of them.
type Sessions interface {
	Session(ctx context.Context, id string) (sessions.Session, error)
	List(ctx context.Context, f sessions.Filter) ([]sessions.Session, error)
	Usage(ctx context.Context, f sessions.Filter) (budget.Usage, error)
}

// Histories are the turns of sessions.
type Histories interface {
	Turns(ctx context.Context, id string, last int) ([]sessions.Turn, error)
	History(ctx context.Context, id string) ([]sessions.Turn, error)
	Interrupted(ctx context.Context, id string) ([]sessions.Turn, error)
}

// Recall finds texts, and what is remembered of users.
type Recall interface {
	Search(ctx context.Context, query string, limit int) ([]sessions.Hit, error)
	SearchFacts(ctx context.Context, user, query string) ([]sessions.Fact, error)
	Facts
}

// Facts are what is remembered of users.
type Facts interface {
	AddFact(ctx context.Context, user, text string) (sessions.Fact, error)
	Facts(ctx context.Context, user string) ([]sessions.Fact, error)
	Forget(ctx context.Context, id int64) error
}

// Keeping is what is done with whole sessions.
type Keeping interface {
	Changes
	Removals
	Copies
}

// Changes make sessions, or change what is known of them.
type Changes interface {
	SetTitle(ctx context.Context, id, title string) error
	SetMetadata(ctx context.Context, id string, metadata map[string]string) error
	Branch(ctx context.Context, from string, turn int, to string) (sessions.Session, error)
}

// Removals make a store smaller.
type Removals interface {
	Delete(ctx context.Context, id string) error
	Compact(ctx context.Context) error
}

// Copies take sessions out and in, and Check looks for damage.
type Copies interface {
	Export(ctx context.Context, id string, w io.Writer) error
	Import(ctx context.Context, r io.Reader, as string) (sessions.Session, error)
	Check(ctx context.Context) error
}

// Run tests the stores that open makes, each empty, several at once. After each test the
// store must be undamaged.
func Run(t *testing.T, open func(t *testing.T) Store) {
	for name, test := range suite() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := world{t, open(t)}
			test(w)
			w.ok(w.Check(t.Context()))
		})
	}
}

// RunLasting tests stores that outlive the process: open opens the one in dir. It
// is called again for the same dir while the store before it is still open, as
// after a crash.
func RunLasting(t *testing.T, open func(t *testing.T, dir string) Store) {
	Run(t, func(t *testing.T) Store { return open(t, t.TempDir()) })
	for name, test := range lasting() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			test(world{t, open(t, dir)}, func() world { return world{t, open(t, dir)} })
		})
	}
}

func suite() map[string]func(world) {
	return map[string]func(world){
		"texts":                      texts,
		"a turn from begin to end":   oneTurn,
		"numbers of turns":           numbers,
		"busy sessions":              busy,
		"only a running turn writes": onlyRunning,
		"order of the journal":       journalOrder,
		"events name texts":          eventsNameTexts,
		"turns without an answer":    noAnswer,
		"committed turns":            committed,
		"the chain of a history":     chain,
		"messages of a panel of one": messages,
		"usage":                      usage,
		"big texts":                  bigTexts,
		"concurrent use":             concurrent,
		"one of many begins":         oneBegins,
		"cancelled calls":            cancelled,
		"invalid input":              invalid,
		"invalid ends":               invalidEnds,
		"list":                       list,
		"titles and metadata":        titles,
		"search":                     search,
		"odd queries":                oddQueries,
		"branch":                     branch,
		"delete":                     remove,
		"delete keeps what is put":   removeKeeps,
		"delete, begin and compact":  compact,
		"facts":                      facts,
		"export and import":          exportImport,
		"import refuses":             importRefuses,
	}
}

func lasting() map[string]func(world, func() world) {
	return map[string]func(world, func() world){
		"what has ended lasts":    lasts,
		"interrupted turns":       interrupted,
		"turns that are given up": givenUp,
		"busy in another process": busyElsewhere,
	}
}
