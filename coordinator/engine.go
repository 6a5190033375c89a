package coordinator

import (
	"context"
	"errors"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/massgen/massgen/agents"
	"github.com/massgen/massgen/agents/machine"
	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/contextbuild"
	"github.com/massgen/massgen/coordinator/budget"
	"github.com/massgen/massgen/coordinator/kernel"
	"github.com/massgen/massgen/coordinator/turn"
)

// engine runs one turn. The goroutine of run owns all of it; effects run in the
// group and meet it only in results.
type engine struct {
	panel   *Panel
	turn    *Turn
	machine turn.Machine
	doer    agents.Doer

	group   errgroup.Group
	results chan result
	// out counts the effects under way, and with cancel each agent's are ended.
	out    int
	base   context.Context
	ctx    []context.Context
	cancel []context.CancelFunc
	// aside is the context of the calls that belong to no agent, nil before the first.
	aside       context.Context
	asideCancel context.CancelFunc
	// warned takes, from the summary's effect, the context warnings that hold with it.
	warned chan []AgentContextWarning
	// leftOutMost is, of each agent, the most that a call was not sent of its step.
	leftOutMost []machine.LeftOut
	// unkept are those that could not be kept beyond the turn.
	unkept []turn.AsideOutcome
	timer  *time.Timer
	over   bool
	// purse is nil in a turn without a budget.
	purse *purse
	// toolsVersion is that of the agents' tools that were taken last.
	toolsVersion uint64
	// said is the transcript of the step of a panel of one.
	said []machine.Entry
	// passed are the notes that another engine was given, and of which the journal does not
	// tell yet.
	passed []passedNote
	// slept is how long a turn that was resumed had nobody at work on it: that time
	// is none of the turn's (DESIGN §6).
	slept time.Duration
}

// result is what an effect came to.
type result struct {
	effect machine.Effect
	event  machine.Event
	// decided is set, in place of effect and event, for a person's word.
	decided *turn.Decided
	// listed is set if the agents' tools may have changed.
	listed *toolListing
	err    error
}

// work is what the loop starts, and what comes back to it once: an effect, or a question
// for a person.
type work struct {
	effect machine.Effect
	ask    *machine.Ask
}

func (w work) key() machine.Key {
	if w.ask != nil {
		return w.ask.Key
	}
	return w.effect.EffectKey()
}

// begin starts work. A question that was taken back meanwhile, by the same event or in a
// journal that ends before its answer, is nobody's any more: its agent may be in another
// step.
func (e *engine) begin(w work) {
	switch {
	case w.ask == nil:
		e.start(w.effect)
	case e.machine.IsAsked(w.ask.Key):
		e.ask(*w.ask)
	}
}

func newEngine(ctx context.Context, p *Panel, t *Turn) *engine {
	n := len(p.opts.Agents)
	e := &engine{
		panel: p, turn: t, results: make(chan result), base: agents.WithPanelValue(context.WithoutCancel(ctx), p.opts.PanelValue),
		ctx: make([]context.Context, n), cancel: make([]context.CancelFunc, n),
		timer: time.NewTimer(time.Hour), warned: make(chan []AgentContextWarning, 1),
		leftOutMost: make([]machine.LeftOut, n), toolsVersion: t.toolsVersion,
	}
	e.timer.Stop()
	e.doer = agents.Doer{Blobs: p.opts.Store, Members: p.members(t.tools), Asides: e.asides(), Observe: e.observe, Panicked: e.panicked}
	return e
}

func (e *engine) now() kernel.Time { return kernel.Time(time.Now().Add(-e.slept).UnixMilli()) }

// clock is when a moment of the turn's time is.
func (e *engine) clock(at kernel.Time) time.Time { return time.UnixMilli(int64(at)).Add(e.slept) }

// accept writes the turn down before anything is called.
func (e *engine) accept(rules kernel.Config, described machine.Turn, limits budget.Allowance) error {
	if !limits.None() {
		e.purse = newPurse(limits)
	}
	return e.apply(turn.Accepted{At: e.now(), Rules: rules, Turn: described, Budget: limits})
}

// apply journals an event, applies it, and does what follows.
func (e *engine) apply(ev turn.Event) error {
	data, err := turn.Encode(ev)
	if err != nil {
		return err
	}
	if err := e.panel.opts.Store.Append(e.base, e.turn.session, e.turn.number, data); err != nil {
		return fmt.Errorf("write the journal: %w", err)
	}
	commands, err := e.machine.Apply(ev)
	if err != nil {
		return err
	}
	for _, w := range e.do(commands) {
		e.begin(w)
	}
	return nil
}

// do carries out commands but for the work that they ask for, which it returns.
func (e *engine) do(commands []turn.Command) (list []work) {
	for _, c := range commands {
		switch c := c.(type) {
		case turn.Run:
			e.noteStep(c.Effect)
			list = append(list, work{effect: c.Effect})
		case turn.Ask:
			list = append(list, work{ask: &c.Ask})
		default:
			e.carry(c)
		}
	}
	return list
}

func (e *engine) carry(c turn.Command) {
	switch c := c.(type) {
	case turn.Cancel:
		if c.Agent == machine.NoAgent {
			e.cancelAsides()
			return
		}
		e.cancel[c.Agent]()
	case turn.Wake:
		e.timer.Reset(time.Until(e.clock(c.At)))
	case turn.Finish:
		e.over = true
	case turn.StepStarted:
		e.ctx[c.Agent], e.cancel[c.Agent] = context.WithCancel(e.base)
		e.turn.events.add(Event{Kind: StepStarted, Agent: e.id(c.Agent), Round: c.Round, Text: string(c.Purpose)})
	case turn.WentToJSON:
		e.turn.events.add(Event{Kind: WentToJSON, Agent: e.id(c.Agent), Round: c.Round})
	case turn.Granted:
		e.answer(c.Key, "")
	case turn.Refused:
		e.answer(c.Key, c.Why)
	case turn.HeldUp:
		e.turn.events.add(Event{Kind: HeldUp, Agent: e.who(c.Key), Round: c.Key.Round, Text: c.Why})
	case turn.ToolEnded:
		e.tellToolEnd(c.Call)
	case turn.NewTools:
		e.tellNewTools(c)
	case turn.StepEnded:
		e.noteSaid(c)
		e.tellEnd(c)
	case turn.NoteTaken:
		e.tellNote(c.Text)
	case turn.AsideStarted:
		e.turn.events.add(Event{Kind: AsideStarted, Label: string(c.Aside.Purpose)})
	case turn.AsideEnded:
		e.tellAside(c)
	}
}

func (e *engine) id(agent int) string { return e.panel.opts.Agents[agent].ID }

// who names whose call it is: an agent's, or one for a purpose.
func (e *engine) who(key machine.Key) string {
	if key.Agent == machine.NoAgent {
		return string(key.Purpose)
	}
	return e.id(key.Agent)
}

// start runs an effect in the group; its result comes to the loop exactly once.
func (e *engine) start(effect machine.Effect) {
	e.out++
	key := effect.EffectKey()
	var ctx context.Context
	if key.Agent == machine.NoAgent {
		ctx = e.asideContext()
	} else {
		ctx = e.ctx[key.Agent]
	}
	ctx = e.spending(backends.WithTrace(ctx, e.trace(key)), key)
	e.tellStart(effect)
	ctx, over := e.withProgress(ctx, effect)
	described, known := e.machine.Turn(), e.toolsVersion
	e.panel.scheduler.launch(e, func() error {
		r := result{effect: effect}
		r.event, r.err = e.doer.Perform(ctx, described, effect)
		over()
		if r.err == nil && key.Agent != machine.NoAgent {
			r.listed, r.err = e.listTools(ctx, known)
		}
		e.results <- r
		return nil
	})
}

// run is the loop of the turn. It returns when the result is there and every
// effect has come back or was abandoned.
func (e *engine) run(ctx context.Context) {
	err := errors.Join(e.panel.scheduler.loop(ctx, e), e.panel.scheduler.drain(e))
	if following := e.end(err); len(following) > 0 {
		e.follow(ctx, following)
	}
	e.timer.Stop()
	if e.purse != nil {
		close(e.purse.closed)
	}
	e.turn.events.close()
}

// took books the result of an effect.
func (e *engine) took(r result) error {
	if err := e.takeTools(r.listed); err != nil {
		return err
	}
	if r.decided != nil {
		if r.err != nil {
			return fmt.Errorf("%s, approval: %w", e.id(r.decided.Key.Agent), r.err)
		}
		r.decided.At = e.now()
		return e.apply(*r.decided)
	}
	key := r.effect.EffectKey()
	switch {
	case r.err != nil && key.Agent == machine.NoAgent:
		return fmt.Errorf("%s: %w", key.Purpose, r.err)
	case r.err != nil:
		return fmt.Errorf("%s, %s: %w", e.id(key.Agent), key.Purpose, r.err)
	}
	switch ev := r.event.(type) {
	case machine.ModelReply:
		done := turn.ModelDone{At: e.now(), Key: key, Reply: ev}
		if err := e.apply(done); err != nil {
			return err
		}
		e.keep(done)
		return nil
	case machine.ToolReply:
		return e.apply(turn.ToolDone{At: e.now(), Key: key, Reply: ev})
	}
	return fmt.Errorf("%s: an effect ended with %T", e.who(key), r.event)
}

// observe tells of what streams in. It is called from the effects' goroutines.
func (e *engine) observe(key machine.Key, ev backends.Event) {
	if key.Agent == machine.NoAgent {
		return
	}
	told := Event{Agent: e.id(key.Agent), Round: key.Round}
	switch ev := ev.(type) {
	case backends.TextDelta:
		told.Kind, told.Text = TextDelta, ev.Text
	case backends.ReasoningDelta:
		told.Kind, told.Text = Thinking, ev.Text
	case backends.ToolCall:
		told.Kind, told.Text = ToolCalled, ev.Name
	default:
		return
	}
	e.turn.events.add(told)
}

// panicked tells of an effect that panicked, as observe does of what streams in.
func (e *engine) panicked(key machine.Key, stack []byte) {
	e.turn.events.add(Event{Kind: Panicked, Agent: e.who(key), Text: string(stack)})
}

// trace tells of attempts that have failed, as observe does of those that have not.
func (e *engine) trace(key machine.Key) *backends.Trace {
	told := Event{Agent: e.who(key), Round: key.Round}
	return &backends.Trace{
		Retry: func(info backends.RetryInfo) {
			ev := told
			ev.Kind, ev.Text, ev.Elapsed = Retrying, contextbuild.Clean(info.Err.Error()), info.Wait
			e.turn.events.add(ev)
		},
		Fallback: func(info backends.FallbackInfo) {
			ev := told
			ev.Kind, ev.Text, ev.Label = FellBack, contextbuild.Clean(info.Err.Error()), info.To
			e.turn.events.add(ev)
		},
	}
}

// tellEnd tells of what a step came to.
func (e *engine) tellEnd(c turn.StepEnded) {
	e.cancel[c.Agent]()
	told := Event{
		Agent: e.id(c.Agent), Round: c.Round, Text: c.Outcome.Reason, Label: c.Label, Void: c.Void,
		Elapsed: time.Duration(c.Elapsed) * time.Millisecond, Usage: c.Usage, ToolCalls: c.ToolCalls,
		Snapshot: e.toldSnapshot(c.Outcome.Work), Partial: e.toldPartial(c.Partial),
	}
	switch c.Outcome.Kind {
	case machine.Answered:
		told.Kind = Answered
		if c.Purpose.IsFinalAnswer() {
			told.Kind = Presented
		}
	case machine.Voted:
		told.Kind = Voted
	case machine.Abstained:
		told.Kind = Abstained
	case machine.Stopped:
		told.Kind = Cancelled
	default:
		told.Kind = Failed
	}
	e.turn.events.add(told)
}
