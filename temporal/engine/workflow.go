package engine

import (
	"errors"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/massgen/massgen/agents/machine"
	"github.com/massgen/massgen/coordinator/kernel"
	"github.com/massgen/massgen/coordinator/turn"
)

// player plays one turn. All of it runs in the workflow: it is deterministic, and its
// coroutines take turns.
type player struct {
	in      request
	number  int // 0 before the turn is begun
	machine turn.Machine
	over    bool
	out     int

	// root outlives the cancellation of the workflow, which is an interrupt of the turn.
	root    workflow.Context
	journal journal
	ctx     map[int]workflow.Context // by agent
	cancel  map[int]workflow.CancelFunc
	wake    kernel.Time
	clock   clock
	unwake  workflow.CancelFunc
	permits map[machine.Key]*permit
	tries   map[machine.Key]int // of calls whose worker was lost
	cut     bool                // an interrupt was taken
	hearing bool                // a note is looked for in the store
	// home has the agents' tools; moving says that another is looked for.
	home   home
	moving bool
	// questions are those about tool calls; unattended says that a call may run which nobody
	// can be asked about.
	questions  map[machine.Key]*question
	unattended bool
}

// permit says whether the machine lets an attempt be sent, once that is decided, and why not.
type permit struct {
	decided bool
	refused string
}

// play is the workflow of one turn.
func play(ctx workflow.Context, in request) error {
	in.Settings = in.Settings.withDefaults()
	root, _ := workflow.NewDisconnectedContext(ctx)
	p := &player{
		in: in, root: root,
		ctx: map[int]workflow.Context{}, cancel: map[int]workflow.CancelFunc{}, permits: map[machine.Key]*permit{}, tries: map[machine.Key]int{},
		questions: map[machine.Key]*question{},
	}
	if err := p.listen(ctx); err != nil {
		return err
	}
	err := p.play()
	if workflow.IsContinueAsNewError(err) {
		return err
	}
	p.unmark()
	if err == nil {
		return nil
	}
	if p.number > 0 { // the turn stays unfinished in the store, for whoever resumes it
		leave := workflow.WithActivityOptions(root, p.bookkeeping())
		err = errors.Join(err, workflow.ExecuteActivity(leave, leaveName, p.held()).Get(root, nil))
	}
	return err
}

func (p *player) play() error {
	effects, err := p.begin()
	if err != nil {
		return err
	}
	for {
		for _, e := range effects {
			p.start(e)
		}
		if p.over && p.out == 0 {
			break
		}
		if effects, err = p.take(); err != nil {
			return err
		}
		if next, ok := p.next(effects); ok {
			return workflow.NewContinueAsNewError(p.root, workflowName, next)
		}
	}
	end := workflow.WithActivityOptions(p.root, p.bookkeeping())
	var c concluded
	if err := workflow.ExecuteActivity(end, concludeName, p.held()).Get(p.root, &c); err != nil {
		return err
	}
	if err := p.follow(c.Following); err != nil {
		return err
	}
	return workflow.Await(p.root, func() bool { return workflow.AllHandlersFinished(p.root) })
}

func now(ctx workflow.Context) kernel.Time { return kernel.Time(workflow.Now(ctx).UnixMilli()) }

func (p *player) held() held { return held{p.in.Session, p.in.Owner, p.number} }

// storePatience is how long a turn waits for a store that does not work, before it is left
// unfinished.
const storePatience = time.Hour

// bookkeeping are the options of the activities that only need the store: they are tried
// until it works.
func (p *player) bookkeeping() workflow.ActivityOptions {
	return workflow.ActivityOptions{
		StartToCloseTimeout: 2 * time.Minute, HeartbeatTimeout: p.in.Settings.Heartbeat, ScheduleToCloseTimeout: storePatience,
		RetryPolicy: &temporal.RetryPolicy{MaximumInterval: 10 * time.Second},
	}
}

// patiently has local activities tried until the store works.
func patiently(ctx workflow.Context) workflow.Context {
	return workflow.WithLocalActivityOptions(ctx, workflow.LocalActivityOptions{
		StartToCloseTimeout: 30 * time.Second, ScheduleToCloseTimeout: storePatience, RetryPolicy: &temporal.RetryPolicy{MaximumInterval: 10 * time.Second},
	})
}

// begin begins the turn, or goes on with one that another run has begun, and returns the
// effects that are to start.
func (p *player) begin() ([]machine.Effect, error) {
	if p.in.Played != nil {
		return p.takeUp(*p.in.Played)
	}
	var b begun
	p.in.At = now(p.root)
	ctx := workflow.WithActivityOptions(p.root, p.bookkeeping())
	if err := workflow.ExecuteActivity(ctx, prepareName, p.in).Get(p.root, &b); err != nil {
		return nil, err
	}
	accepted, err := turn.Decode(b.Accepted)
	if err != nil {
		return nil, err
	}
	p.number, p.journal.events, p.home = b.Number, 1, home{Queue: b.Home, Token: b.Token}
	p.unattended = b.Unattended
	return p.feed(accepted)
}

// feed applies an event, and does what follows but for the effects, which it returns.
func (p *player) feed(ev turn.Event) ([]machine.Effect, error) {
	commands, err := p.machine.Apply(ev)
	if err != nil {
		return nil, err
	}
	if lost, ok := ev.(turn.Lost); ok {
		p.forget(lost.Key)
	}
	var effects []machine.Effect
	for _, c := range commands {
		switch c := c.(type) {
		case turn.Run:
			effects = append(effects, c.Effect)
		case turn.Cancel:
			p.contextOf(c.Agent)
			p.cancel[c.Agent]()
		case turn.StepStarted:
			p.ctx[c.Agent], p.cancel[c.Agent] = workflow.WithCancel(p.root)
		case turn.StepEnded:
			p.cancel[c.Agent]()
		case turn.Wake:
			p.wakeAt(c.At)
		case turn.Clock:
			p.setClock(c.Runs)
		case turn.Finish:
			p.over = true
		case turn.Granted:
			p.tell(c.Key, "")
		case turn.Refused:
			p.tell(c.Key, c.Why)
		case turn.Ask:
			p.ask(c.Ask)
		}
	}
	return effects, nil
}

// contextOf is that of an agent's effects, or of those that belong to none.
func (p *player) contextOf(agent int) workflow.Context {
	if p.ctx[agent] == nil {
		p.ctx[agent], p.cancel[agent] = workflow.WithCancel(p.root)
	}
	return p.ctx[agent]
}

// wakeAt replaces the timer.
func (p *player) wakeAt(at kernel.Time) {
	if p.unwake != nil {
		p.unwake()
	}
	p.wake = at
	if p.clock.Stopped > 0 {
		return
	}
	ctx, cancel := workflow.WithCancel(p.root)
	p.unwake = cancel
	workflow.Go(ctx, func(ctx workflow.Context) {
		rest := time.Duration(at-p.now()) * time.Millisecond
		if err := workflow.Sleep(ctx, rest); err == nil {
			p.wake = 0
			p.happened(happening{event: func(at kernel.Time) turn.Event { return turn.Woke{At: at} }})
		}
	})
}

// permit is that of an attempt, which waits for it or is to come.
func (p *player) permit(key machine.Key) *permit {
	if p.permits[key] == nil {
		p.permits[key] = &permit{}
	}
	return p.permits[key]
}

// tell lets an attempt be sent, or says why it is not.
func (p *player) tell(key machine.Key, refused string) {
	*p.permit(key) = permit{decided: true, refused: refused}
}
