package coordinator

import (
	"context"
	"fmt"
	"iter"
	"sync"
	"time"

	"github.com/massgen/massgen/agents"
	"github.com/massgen/massgen/coordinator/report"
	"github.com/massgen/massgen/internal/coordination/kernel"
	"github.com/massgen/massgen/sessions"
)

// Running is the status of a turn that has no result yet.
const Running = sessions.Running

// Turn is the handle of one turn. It is safe for concurrent use.
type Turn struct {
	session  string
	number   int
	question string
	started  time.Time

	tools           [][]agents.Tool              // by agent
	toolsVersion    uint64                       // the version of these tools
	contextWarnings []report.AgentContextWarning // those at the turn's start

	events    eventLog
	inbox     *inbox
	local     *localTurn // belongs to the turn's goroutine; nil in a process that watches the turn
	cancelled sync.Once
	done      chan struct{} // closed when the fields below are final

	ended  time.Time
	result report.Result
	err    error
}

func newTurn(session string, number int, question string) *Turn {
	return &Turn{
		session: session, number: number, question: question, started: time.Now(),
		inbox: newInbox(), done: make(chan struct{}),
	}
}

// ID names the turn: its session and its number, from 1.
func (t *Turn) ID() string { return fmt.Sprintf("%s/%d", t.session, t.number) }

// Session returns the id of the turn's session.
func (t *Turn) Session() string { return t.session }

// Number returns the turn's place in its session, from 1.
func (t *Turn) Number() int { return t.number }

// Question returns the question as it was asked.
func (t *Turn) Question() string { return t.question }

// Started returns when the turn was accepted.
func (t *Turn) Started() time.Time { return t.started }

// Ended returns the time of the result; it is zero while the turn runs.
func (t *Turn) Ended() time.Time {
	if t.Status() == Running {
		return time.Time{}
	}
	return t.ended
}

// Status returns Running, or the status of the result.
func (t *Turn) Status() kernel.Status {
	select {
	case <-t.done:
		return t.result.Status
	default:
		return Running
	}
}

// Wait returns the turn's result. A turn without an answer has a result too, with the status
// failed. The error is for a store or a hook that failed, or for ctx, whose end does not end
// the turn.
func (t *Turn) Wait(ctx context.Context) (report.Result, error) {
	select {
	case <-t.done:
		return t.result, t.err
	case <-ctx.Done():
		return report.Result{}, fmt.Errorf("wait for turn %s: %w", t.ID(), ctx.Err())
	}
}

// Cancel ends the turn with the best answer so far and the status interrupted.
// It returns at once; Wait returns when all calls have ended.
func (t *Turn) Cancel() { t.cancelled.Do(func() { t.inbox.put(interrupt) }) }

// Events yields the turn's events, from the first, whenever it is called, until the turn is
// over or ctx is done.
func (t *Turn) Events(ctx context.Context) iter.Seq[report.Event] { return t.events.all(ctx) }
