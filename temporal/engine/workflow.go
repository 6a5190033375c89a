package engine

import (
	"errors"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/massgen/massgen/internal/coordination/driver"
	"github.com/massgen/massgen/internal/coordination/kernel"
	"github.com/massgen/massgen/internal/coordination/turn"
	"github.com/massgen/massgen/internal/system/blob"
)

// player is the workflow of one turn: the runtime of its driver, which is deterministic, so
// that a worker rebuilds the same state from the workflow's history. Its coroutines take
// turns.
type player struct {
	driver.Steps[workflow.Context]
	// root outlives the cancellation of the workflow, which is an interrupt of the turn.
	root workflow.Context
	attempts
	in     request
	driver *driver.Driver
	inbox  []driver.Post
	// begun is work that the driver has started and this run has not started: the next run may.
	begun   []begunWork
	journal journal
	texts   turnTexts

	timer     timer
	questions questions
	home      homeAtWork
	watches   watches
	cut       bool // the turn was interrupted
	hearing   bool // a note is being stored
}

// begunWork is work with the context of its step.
type begunWork struct {
	driver.Work
	ctx workflow.Context
	// sent is the message to its worker once that is packed, and isNamed reports whether the message
	// has the references of the store.
	sent    *work
	isNamed bool
}

// happening is an outside event, as an event of a moment.
type happening struct {
	// event returns nil if it came too late.
	event func(at kernel.Time) turn.Event
	// heard, if there is one, gets the reply.
	heard    func(error)
	endsWork bool
	// fault ends the turn instead of the event.
	fault error
}

// Events implements driver.Post.
func (h happening) Events(at kernel.Time) ([]turn.Event, error) {
	if h.fault != nil {
		return nil, h.fault
	}
	if ev := h.event(at); ev != nil {
		return []turn.Event{ev}, nil
	}
	return nil, nil
}

// Reply implements driver.Post.
func (h happening) Reply(err error) {
	if h.heard != nil {
		h.heard(err)
	}
}

// EndsWork implements driver.Post.
func (h happening) EndsWork() bool { return h.endsWork }

// happened puts a happening into the inbox.
func (p *player) happened(h happening) { p.inbox = append(p.inbox, h) }

// play is the workflow of one turn.
func play(ctx workflow.Context, in request) error {
	in.Settings = in.Settings.withDefaults()
	root, _ := workflow.NewDisconnectedContext(ctx)
	p := &player{
		in: in, root: root, Steps: newSteps(root), attempts: newAttempts(), questions: newQuestions(), watches: watches{}, timer: timer{letGo: func() {}},
		texts: turnTexts{stored: map[blob.Ref]blob.Ref{}},
	}
	p.journal = journal{root: root, of: p.held, isWhole: in.Form == wholeTurns, options: p.bookkeeping(), failed: func(err error) { p.happened(happening{fault: err}) }}
	p.driver = driver.New(p)
	if err := p.listen(ctx); err != nil {
		return err
	}
	err := p.play()
	p.timer.letGo()
	if err == nil || workflow.IsContinueAsNewError(err) {
		return err
	}
	if p.journal.number > 0 { // the turn stays unfinished in the store, and can be resumed
		_ = p.journal.flush() // its error has ended the turn, or is of less interest
		leave := workflow.WithActivityOptions(root, p.bookkeeping())
		err = errors.Join(err, workflow.ExecuteActivity(leave, leaveName, p.held()).Get(root, nil))
	}
	return err
}

func (p *player) play() error {
	if err := p.begin(); err != nil {
		return err
	}
	if err := p.drive(); err != nil {
		return err
	}
	// A message over InlineLimit would be a text, which the store may forget as soon as the turn has ended.
	rest, err := p.journal.rest(p.in.Settings.InlineLimit / 2)
	if err != nil {
		return err
	}
	end := workflow.WithActivityOptions(p.root, p.bookkeeping())
	var c concluded
	if err := workflow.ExecuteActivity(end, concludeName, ending{p.held(), rest}).Get(p.root, &c); err != nil {
		return err
	}
	if err := p.follow(c.Following); err != nil {
		return err
	}
	return workflow.Await(p.root, func() bool { return workflow.AllHandlersFinished(p.root) })
}

// drive plays the turn until it is over and all work has ended, or until it is to go on in a
// new run.
func (p *player) drive() error {
	for {
		if err := p.startBegun(); err != nil {
			return err
		}
		if p.driver.Done() {
			return nil
		}
		if err := workflow.Await(p.root, func() bool { return len(p.inbox) > 0 }); err != nil {
			return err
		}
		posts := p.inbox
		p.inbox = nil
		if err := p.driver.Handle(posts...); err != nil {
			return err
		}
		if isLong(p) && isIdle(p) {
			if err := p.journal.flush(); err != nil {
				return err
			}
		}
		if _, ok := p.next(); !ok {
			continue
		}
		yield(p.root) // handle the signals that arrived meanwhile, which would be lost
		if next, ok := p.next(); ok {
			return workflow.NewContinueAsNewError(p.root, workflowName, next)
		}
	}
}

// yield lets all other runnable coroutines run, the oldest first.
func yield(ctx workflow.Context) {
	passed, pass := workflow.NewFuture(ctx)
	workflow.Go(ctx, func(workflow.Context) { pass.Set(nil, nil) })
	_ = passed.Get(ctx, nil) // it has no error
}

func now(ctx workflow.Context) kernel.Time { return kernel.Time(workflow.Now(ctx).UnixMilli()) }

func (p *player) held() held { return held{p.in.Session, p.in.Owner, p.journal.number} }

// storePatience is how long a turn waits for a failing store before it is left unfinished.
const storePatience = time.Hour

// mostPreparing is the longest time for one try of an activity that only needs the store, and may start tools.
const mostPreparing = 2 * time.Minute

// bookkeeping returns the options of activities that only need the store: they are repeated
// until it works.
func (p *player) bookkeeping() workflow.ActivityOptions {
	return workflow.ActivityOptions{
		StartToCloseTimeout: mostPreparing, HeartbeatTimeout: p.in.Settings.Heartbeat, ScheduleToCloseTimeout: storePatience,
		RetryPolicy: &temporal.RetryPolicy{MaximumInterval: 10 * time.Second},
	}
}

// begin begins the turn, or goes on with one that another run began.
func (p *player) begin() error {
	if p.in.Played != nil {
		return p.takeUp(*p.in.Played)
	}
	p.in.At = now(p.root)
	b, err := prepared(p)
	if err != nil {
		return err
	}
	accepted, err := b.accepted()
	if err != nil {
		return err
	}
	p.in.Question = nil // it is in the store
	p.journal.number, p.journal.events, p.home, p.questions.unattended = b.Number, 1, homeAtWork{home: home{Queue: b.Home}}, b.Unattended
	commands, err := p.driver.Machine().Apply(accepted)
	if err != nil {
		return err
	}
	if p.texts.described = b.Described; b.Described != (blob.Ref{}) {
		p.texts.turn = accepted.(turn.Accepted).Turn
	}
	p.driver.Carry(commands)
	for _, w := range driver.Asked(commands, p.driver.Machine()) {
		p.driver.Start(w)
	}
	return nil
}

// prepared has a worker prepare the turn: the one that has this task, which saves exchanges with the server. Of two
// that prepare it, the first counts.
func prepared(p *player) (b begun, err error) {
	if p.in.Form >= turnsByTexts {
		return b, workflow.ExecuteLocalActivity(patiently(p.root, mostPreparing), prepareName, p.in).Get(p.root, &b)
	}
	ctx := workflow.WithActivityOptions(p.root, p.bookkeeping())
	return b, workflow.ExecuteActivity(ctx, prepareName, p.in).Get(p.root, &b)
}
