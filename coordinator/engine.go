package coordinator

import (
	"context"

	"github.com/massgen/massgen/agents"
	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/contextbuild"
	"github.com/massgen/massgen/coordinator/report"
	"github.com/massgen/massgen/internal/budget"
	"github.com/massgen/massgen/internal/driver"
	"github.com/massgen/massgen/internal/kernel"
	"github.com/massgen/massgen/internal/machine"
	"github.com/massgen/massgen/internal/stack"
	"github.com/massgen/massgen/internal/turn"
)

// localTurn plays one turn in this process. Each piece of work has its own goroutine, which brings the
// result to the turn's inbox. Whoever runs play owns all of the turn; before open, its maker does.
type localTurn struct {
	*view
	driver.Steps[context.Context]
	clock
	attempts
	driver *driver.Driver
	doer   agents.Doer
	// begin begins a job. last is the job that begins when there is nothing else to do.
	begin func(job)
	last  job
	// receive takes the waiting posts. If there are none, play returns, and runs again when there are.
	receive func() []driver.Post
	// then is the stage that follows when all work has ended, nil after the last.
	then stage
	err  error // of the driver
	// forget ends the connection of the turn to the context that began it.
	forget func() bool

	summaries *summaryReader
	// unpublished are report events whose journal events may not be durable yet.
	unpublished []report.Event
	// isKept says that the outcome is stored, and unkept why it lacks the turn's messages.
	isKept bool
	unkept error
	// toolsVersion is the version of the agents' present tools.
	toolsVersion uint64
}

func newLocalTurn(ctx context.Context, p *Panel, t *Turn) *localTurn {
	e := &localTurn{
		attempts: attempts{waiting: map[machine.Key]chan<- verdict{}}, summaries: newSummaryReader(p),
		clock:        newClock(func() { t.inbox.put(woke{}) }),
		toolsVersion: t.toolsVersion, receive: t.inbox.next,
	}
	e.then, e.begin = e.answered, e.beginLast
	t.local = e
	e.driver = driver.New(e)
	e.view = newView(ctx, p, t, e.driver.Machine())
	e.Steps = newSteps(e.base)
	if p.scheduled != nil {
		p.scheduled(e)
	}
	e.doer = agents.Doer{Blobs: p.opts.Store, Members: p.members(t.tools), Sidecalls: p.sidecalls(e.summaries), Histories: &p.histories, Observe: e.observe, Panicked: e.panicked}
	return e
}

// accept writes the turn to the journal before anything is called.
func (e *localTurn) accept(rules kernel.Config, described machine.Turn, limits budget.Allowance) error {
	e.limit(limits)
	return e.take(turn.Accepted{At: e.Now(), Rules: rules, Turn: described, Budget: limits})
}

// take gives the driver an event that happens now.
func (e *localTurn) take(event turn.Event) error { return e.driver.Handle(happening{event: event}) }

// Applied implements driver.Runtime. It projects the event, which is published when it is durable.
func (e *localTurn) Applied(ev turn.Event, commands []turn.Command) {
	e.summaries.heed(ev, e.report)
	e.unpublished = append(e.unpublished, e.report.Apply(ev, commands)...)
}

// publish publishes what was projected.
func (e *localTurn) publish() {
	e.turn.events.add(e.unpublished...)
	e.unpublished = nil
}

// A stage of a turn ends when all its work has ended. It gets the error of the driver, and returns the
// stage that follows.
type stage func(err error) stage

// open begins to play an accepted turn, which counts as running until the result is final and all work
// has returned or was abandoned.
func (e *localTurn) open(ctx context.Context) {
	e.panel.count(1)
	e.forget = context.AfterFunc(ctx, e.turn.Cancel)
	e.beginLast(nil)
	e.turn.inbox.open(func() { e.work(e.play()) }, e.driver.Done())
}

// A job is work that ends with a post. isLate says that the post has come from elsewhere.
type job func() (p driver.Post, isLate bool)

// beginLast begins the last job in a goroutine of its own, and keeps j in its place.
func (e *localTurn) beginLast(j job) {
	if last := e.last; last != nil {
		go func() {
			stack.Grow()
			e.work(last)
		}()
	}
	e.last = j
}

// work does a job, if there is one, brings its post, and goes on with the job that play returns.
func (e *localTurn) work(j job) {
	for j != nil {
		p, isLate := j()
		if isLate {
			return
		}
		j = e.bring(p)
	}
}

// bring adds a post to the inbox. If nobody plays the turn, it does, and returns what play returns.
func (e *localTurn) bring(p driver.Post) job {
	if e.turn.inbox.add(p) {
		return e.play()
	}
	return nil
}

// play plays the turn while there are posts, and closes the turn after its last stage. It returns the
// job that began last, for its own goroutine to do.
func (e *localTurn) play() job {
	for e.then != nil {
		if e.driver.Done() {
			e.CancelAll()
			e.then = e.then(e.err)
			continue
		}
		last := e.last
		e.last = nil
		posts := e.receive()
		if len(posts) == 0 {
			return last // somebody else may own the turn by now
		}
		e.last = last
		e.beginLast(nil)
		if err := e.driver.Play(posts); err != nil {
			e.err = err
			e.CancelAll()
		}
	}
	e.forget()
	e.stopTimer()
	e.turn.inbox.close()
	e.turn.events.close()
	e.panel.count(-1)
	return nil
}

// observe publishes streamed events. The effects' goroutines call it.
func (e *localTurn) observe(key machine.Key, ev backends.Event) {
	actor := report.ActorOf(key, e.id)
	switch ev := ev.(type) {
	case backends.TextDelta:
		e.turn.events.add(report.TextDelta{Actor: actor, Text: ev.Text})
	case backends.ReasoningDelta:
		e.turn.events.add(report.Thinking{Actor: actor, Text: ev.Text})
	case backends.HostedCall:
		if ev.Open {
			e.turn.events.add(report.ToolCalled{Actor: actor, Tool: ev.Name})
		}
	case backends.ToolCall:
		e.turn.events.add(report.ToolCalled{Actor: actor, Tool: ev.Name})
	}
}

// panicked publishes the panic of an effect. The effects' goroutines call it.
func (e *localTurn) panicked(key machine.Key, stack []byte) {
	e.turn.events.add(report.Panicked{Actor: report.ActorOf(key, e.id), Stack: string(stack)})
}

// trace publishes attempts that failed. The effects' goroutines call it.
func (e *localTurn) trace(key machine.Key) *backends.Trace {
	actor := report.ActorOf(key, e.id)
	return &backends.Trace{
		Retry: func(info backends.RetryInfo) {
			e.turn.events.add(report.Retrying{Actor: actor, Why: contextbuild.Clean(info.Err.Error()), Wait: info.Wait})
		},
		Fallback: func(info backends.FallbackInfo) {
			if !info.Known { // a known fallback was published before
				e.turn.events.add(report.FellBack{Actor: actor, Why: contextbuild.Clean(info.Err.Error()), To: info.To})
			}
		},
	}
}
