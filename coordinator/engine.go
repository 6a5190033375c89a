package coordinator

import (
	"context"
	"errors"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/massgen/massgen/agents"
	"github.com/massgen/massgen/agents/machine"
	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/contextbuild"
	"github.com/massgen/massgen/coordinator/budget"
	"github.com/massgen/massgen/coordinator/driver"
	"github.com/massgen/massgen/coordinator/kernel"
	"github.com/massgen/massgen/coordinator/report"
	"github.com/massgen/massgen/coordinator/turn"
)

// engine is one turn in this process. The goroutine of run owns all of it; work runs in the
// group and meets it only in posts.
type engine struct {
	panel   *Panel
	turn    *Turn
	driver  *driver.Driver
	machine *turn.Machine // the driver's
	report  *report.Report
	doer    agents.Doer
	// launch runs work in a goroutine of its own, and posts what it comes to.
	launch  func(work func() driver.Post)
	receive func() []driver.Post

	group errgroup.Group
	// cancel ends the work of each agent, whose context is in ctx, nil while it has none.
	base   context.Context
	ctx    []context.Context
	cancel []context.CancelFunc
	// aside is the context of the calls that belong to no agent, nil before the first.
	aside       context.Context
	asideCancel context.CancelFunc
	// warned takes, from the summary's effect, the context warnings that hold with it.
	warned chan []report.AgentContextWarning
	// unkept are those that could not be kept beyond the turn.
	unkept []turn.AsideOutcome
	// timer posts that it is wakeAt, unless the clock was stopped.
	timer   *time.Timer
	wakeAt  kernel.Time
	stopped time.Time
	// limited and priced say that the turn has a budget, and one of money. waiting are the
	// attempts that wait for it.
	limited, priced bool
	waiting         map[machine.Key]chan<- string
	// toolsVersion is that of the agents' tools that were taken last.
	toolsVersion uint64
	// passed are the notes that another engine was given, and of which the journal does not
	// tell yet.
	passed []passedNote
	// slept is how long a turn that was resumed had nobody at work on it: that time
	// is none of the turn's (DESIGN §6), nor is that of a pause.
	slept time.Duration
	// paused is how long a person has paused the turn, as far as this process knows.
	paused time.Duration
}

func newEngine(ctx context.Context, p *Panel, t *Turn) *engine {
	n := len(p.opts.Agents)
	e := &engine{
		panel: p, turn: t, base: agents.WithPanelValue(context.WithoutCancel(ctx), p.opts.PanelValue),
		ctx: make([]context.Context, n), cancel: make([]context.CancelFunc, n),
		warned: make(chan []report.AgentContextWarning, 1), waiting: map[machine.Key]chan<- string{},
		toolsVersion: t.toolsVersion, receive: t.inbox.wait,
	}
	t.engine = e
	e.driver = driver.New(e)
	e.machine = e.driver.Machine()
	e.report = p.report(e.base, t, e.machine)
	e.report.SetWarnings(t.contextWarnings)
	e.launch = func(work func() driver.Post) {
		e.group.Go(func() error {
			t.inbox.put(work())
			return nil
		})
	}
	if p.scheduled != nil {
		p.scheduled(e)
	}
	e.doer = agents.Doer{Blobs: p.opts.Store, Members: p.members(t.tools), Asides: e.asides(), Observe: e.observe, Panicked: e.panicked}
	return e
}

// limit says what the turn may spend.
func (e *engine) limit(a budget.Allowance) { e.limited, e.priced = !a.None(), a.Priced() }

// accept writes the turn down before anything is called.
func (e *engine) accept(rules kernel.Config, described machine.Turn, limits budget.Allowance) error {
	e.limit(limits)
	return e.take(func(at kernel.Time) turn.Event {
		return turn.Accepted{At: at, Rules: rules, Turn: described, Budget: limits}
	})
}

// take has the driver take an event that happens now.
func (e *engine) take(event func(at kernel.Time) turn.Event) error {
	return e.driver.Take(happening{event: event})
}

// contextOf is that of an agent's work, or of the work that belongs to none.
func (e *engine) contextOf(agent int) context.Context {
	if agent == machine.NoAgent {
		return e.asideContext()
	}
	return e.ctx[agent]
}

// Tell implements driver.Runtime.
func (e *engine) Tell(ev turn.Event, commands []turn.Command) {
	e.heedSummary(ev)
	e.turn.events.add(e.report.Apply(ev, commands)...)
	if noted, ok := ev.(turn.Noted); ok {
		e.acknowledge(noted.Note)
	}
}

func (e *engine) id(agent int) string { return e.panel.opts.Agents[agent].ID }

// run plays the turn. It returns when the result is there and all work has come back or
// was abandoned.
func (e *engine) run(ctx context.Context) {
	stop := context.AfterFunc(ctx, e.turn.Cancel)
	defer stop()
	err := e.play()
	if following := e.end(err); len(following) > 0 {
		e.follow(following)
	}
	e.stopTimer()
	e.turn.inbox.close()
	e.turn.events.close()
}

// play plays the turn until it is over and all its work has ended.
func (e *engine) play() error {
	err := e.driver.Play(e.receive)
	e.cancelAll()
	e.driver.Drain(e.receive)
	// All work has posted its result, so this only waits for its goroutines to return; none
	// of them returns an error.
	return errors.Join(err, e.group.Wait())
}

// observe tells of what streams in. It is called from the effects' goroutines.
func (e *engine) observe(key machine.Key, ev backends.Event) {
	if key.Agent == machine.NoAgent {
		return
	}
	actor := report.ActorOf(key, e.id)
	switch ev := ev.(type) {
	case backends.TextDelta:
		e.turn.events.add(report.TextDelta{Actor: actor, Text: ev.Text})
	case backends.ReasoningDelta:
		e.turn.events.add(report.Thinking{Actor: actor, Text: ev.Text})
	case backends.ToolCall:
		e.turn.events.add(report.ToolCalled{Actor: actor, Tool: ev.Name})
	}
}

// panicked tells of an effect that panicked, as observe does of what streams in.
func (e *engine) panicked(key machine.Key, stack []byte) {
	e.turn.events.add(report.Panicked{Actor: report.ActorOf(key, e.id), Stack: string(stack)})
}

// trace tells of attempts that have failed, as observe does of those that have not.
func (e *engine) trace(key machine.Key) *backends.Trace {
	actor := report.ActorOf(key, e.id)
	return &backends.Trace{
		Retry: func(info backends.RetryInfo) {
			e.turn.events.add(report.Retrying{Actor: actor, Why: contextbuild.Clean(info.Err.Error()), Wait: info.Wait})
		},
		Fallback: func(info backends.FallbackInfo) {
			e.turn.events.add(report.FellBack{Actor: actor, Why: contextbuild.Clean(info.Err.Error()), To: info.To})
		},
	}
}
