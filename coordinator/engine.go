package coordinator

import (
	"context"

	"github.com/massgen/massgen/agents"
	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/contextbuild"
	"github.com/massgen/massgen/coordinator/report"
	"github.com/massgen/massgen/internal/coordination/budget"
	"github.com/massgen/massgen/internal/coordination/driver"
	"github.com/massgen/massgen/internal/coordination/effect"
	"github.com/massgen/massgen/internal/coordination/kernel"
	"github.com/massgen/massgen/internal/coordination/turn"
)

// localTurn plays one turn in this process. The goroutine that runs its player owns all of it, and before
// open the goroutine that made it. Work runs in other goroutines, which bring its results to the turn's
// inbox.
type localTurn struct {
	*view
	driver.Steps[context.Context]
	clock
	attempts
	player
	doer agents.Doer
	// unbind ends the turn's connection to the context that began it.
	unbind func() bool

	summaries *summaryReader
	// unpublished are report events whose journal events may not be durable yet.
	unpublished []report.Event
	// isStored says that the outcome is stored, and messagesErr why it lacks the turn's messages.
	isStored    bool
	messagesErr error
	// toolsVersion is the version of the agents' present tools.
	toolsVersion uint64
	// files has the agents' calls on their files, by the agents' indices.
	files map[int]*fileOrder
}

func newLocalTurn(ctx context.Context, p *Panel, t *Turn) *localTurn {
	e := &localTurn{
		attempts: attempts{waiting: map[effect.Key]chan<- verdict{}}, summaries: newSummaryReader(p),
		clock:        newClock(func() { t.inbox.put(woke{}) }),
		toolsVersion: t.toolsVersion,
	}
	t.local = e
	d := driver.New(e)
	e.view = newView(ctx, p, t, d.Machine())
	e.Steps = newSteps(e.base)
	e.player = player{driver: d, inbox: &t.inbox, receive: t.inbox.next, cancel: e.CancelAll, next: e.answered, broken: e.broken}
	e.launch = e.launchLast
	if p.scheduled != nil {
		p.scheduled(e)
	}
	e.doer = agents.Doer{Blobs: p.opts.Store, Members: p.members(t.tools), Sidecalls: p.sidecalls(e.summaries), Histories: &p.histories, Observe: e.observe, Panicked: e.panicked}
	return e
}

// accept writes the turn to the journal before anything is called.
func (e *localTurn) accept(rules kernel.Config, described effect.Turn, limits budget.Allowance) error {
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

// open begins the work of an accepted turn, which e.run plays. The turn counts as running until the result
// is final and all work has returned or was abandoned.
func (e *localTurn) open(ctx context.Context) {
	e.turn.inbox.take = e.run
	e.unbind = context.AfterFunc(ctx, e.turn.Cancel)
	e.panel.count(1)
	e.beginAll()
}

// closed is the last stage.
func (e *localTurn) closed(error) stage {
	e.unbind()
	e.close()
	e.panel.count(-1)
	return nil
}

// close refuses the posts, and drops the events, that come from now on.
func (e *localTurn) close() {
	e.stopTimer()
	e.turn.inbox.close()
	e.turn.events.close()
}

// closeUnopened ends a turn that was not opened, and whose work has not begun.
func (e *localTurn) closeUnopened() {
	if !e.isOpen {
		e.close()
	}
}

// observe publishes streamed events. The effects' goroutines call it.
func (e *localTurn) observe(key effect.Key, ev backends.Event) {
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
func (e *localTurn) panicked(key effect.Key, stack []byte) {
	e.turn.events.add(report.Panicked{Actor: report.ActorOf(key, e.id), Stack: string(stack)})
}

// trace publishes attempts that failed. The effects' goroutines call it.
func (e *localTurn) trace(key effect.Key) *backends.Trace {
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
