package coordinator

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/massgen/massgen/agents"
	"github.com/massgen/massgen/coordinator/report"
	"github.com/massgen/massgen/internal/coordination/budget"
	"github.com/massgen/massgen/internal/coordination/driver"
	"github.com/massgen/massgen/internal/coordination/effect"
	"github.com/massgen/massgen/internal/coordination/kernel"
	"github.com/massgen/massgen/internal/coordination/turn"
)

// localTurn plays one turn in this process. It is the runtime of the turn's driver. The goroutine of run owns
// all of it, and before open the goroutine that made it. Jobs run in other goroutines, which put their results
// into the turn's inbox.
type localTurn struct {
	view      *view
	driver    *driver.Driver
	clock     clock
	steps     driver.Steps[context.Context]
	attempts  attempts
	files     fileOrders
	tools     turnTools
	doer      agents.Doer
	summaries *summaryReader
	jobs      jobs
	// receive waits for posts, and takes them.
	receive func() []driver.Post
	// unbind ends the turn's connection to the context that began it.
	unbind func() bool
	// unpublished are report events whose journal events may not be durable yet.
	unpublished []report.Event
	// isStored reports whether the outcome is stored, and messagesErr why it lacks the turn's messages.
	isStored    bool
	messagesErr error
}

func newLocalTurn(ctx context.Context, p *Panel, t *Turn) *localTurn {
	e := &localTurn{
		clock:     newClock(func() { t.inbox.put(woke) }),
		attempts:  attempts{inbox: t.inbox, waiting: map[effect.Key]chan<- verdict{}},
		files:     fileOrders{},
		summaries: newSummaryReader(p),
		jobs:      jobs{settle: func() {}},
		receive:   t.inbox.next,
		unbind:    func() bool { return true },
	}
	t.local = e
	e.driver = driver.New(e)
	e.view = newView(ctx, p, t, e.driver.Machine())
	e.steps = newSteps(e.view.base)
	e.doer = agents.Doer{
		Blobs: p.texts, Members: p.members(t.tools), Sidecalls: p.sidecalls(e.summaries), RunCheck: p.opts.RunCheck,
		Observe: e.view.told.observe, Panicked: e.panicked,
	}
	e.tools = turnTools{view: e.view, doer: &e.doer, version: t.toolsVersion}
	if p.scheduled != nil {
		p.scheduled(e)
	}
	return e
}

// accept writes the turn to the journal before anything is called.
func (e *localTurn) accept(rules kernel.Config, described effect.Turn, limits budget.Allowance) error {
	e.attempts.limit(limits)
	return e.handle(turn.Accepted{At: e.Now(), Rules: rules, Turn: described, Budget: limits})
}

// handle gives the driver an event that happens now.
func (e *localTurn) handle(event turn.Event) error { return e.driver.Handle(happening{event: event}) }

// open begins the work of an accepted turn, and plays the turn in a goroutine of its own. The turn counts as
// running until the result is final and all jobs have ended.
func (e *localTurn) open(ctx context.Context) {
	e.unbind = context.AfterFunc(ctx, e.view.turn.Cancel)
	e.view.panel.count(1)
	e.jobs.open()
	go e.run()
}

// run plays the turn to its end. If a function of the panel's user panics or ends the goroutine
// (runtime.Goexit), the turn ends with an error.
func (e *localTurn) run() {
	isOver := false
	defer func() {
		if !isOver {
			e.breakOff(recover())
		}
		e.close()
		e.jobs.wait()
		e.view.panel.count(-1)
	}()
	if following := e.end(e.play()); len(following) > 0 {
		e.follow(following)
	}
	isOver = true
}

// play has the driver take posts until the turn is over and all jobs have posted their results.
func (e *localTurn) play() (err error) {
	for !e.driver.Done() {
		if failed := e.driver.Play(e.receive()); failed != nil {
			err = failed
			e.cancelAll()
		}
	}
	e.cancelAll()
	return err
}

// cancelAll cancels all jobs.
func (e *localTurn) cancelAll() {
	e.jobs.settle()
	e.steps.CancelAll()
}

// breakOff ends the turn at once: the driver may be in the middle of a batch. panicked is the value of a
// panic, nil after runtime.Goexit.
func (e *localTurn) breakOff(panicked any) {
	t := e.view.turn
	e.steps.CancelAll()
	err := errors.New("a hook or the store ended its goroutine (runtime.Goexit)")
	if panicked != nil {
		err = fmt.Errorf("it panicked: %v", panicked)
		t.events.add(report.Panicked{Stack: string(debug.Stack())})
	}
	err = fmt.Errorf("turn %s: %w", t.ID(), err)
	if !e.isStored {
		err = errors.Join(err, e.leave())
	}
	if t.Status() == Running {
		e.view.announce(err)
	}
}

// close refuses the posts, and drops the events, that come from now on.
func (e *localTurn) close() {
	e.unbind()
	e.clock.stopTimer()
	e.view.turn.inbox.close()
	e.view.turn.events.close()
}

// closeUnopened ends a turn that was not opened, and whose work has not begun.
func (e *localTurn) closeUnopened() {
	if !e.jobs.isOpen {
		e.close()
	}
}
