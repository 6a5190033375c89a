package engine

import (
	"fmt"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/massgen/massgen/agents/machine"
	"github.com/massgen/massgen/coordinator/driver"
	"github.com/massgen/massgen/coordinator/kernel"
	"github.com/massgen/massgen/coordinator/turn"
)

// The player is the runtime of a turn that is played by a workflow: work is activities, and
// the workflow's history is the truth, from which the journal in the store is written.

// Now implements driver.Runtime.
func (p *player) Now() kernel.Time {
	if p.clock.Stopped > 0 {
		return p.clock.Stopped - p.clock.Slept
	}
	return now(p.root) - p.clock.Slept
}

// mostEntry is about how many bytes of events one activity is given: the server takes no
// more than 2 MB at once.
const mostEntry = 512 << 10

// Append implements driver.Runtime. Which events it writes at which places stands in the
// workflow's history before an activity writes them, so that whoever does it again writes
// the same.
func (p *player) Append(events []turn.Event) error {
	for len(events) > 0 {
		e := entry{Session: p.in.Session, Owner: p.in.Owner, Number: p.number, Place: p.events}
		for size := 0; len(events) > 0 && size < mostEntry; events = events[1:] {
			data, err := turn.Encode(events[0])
			if err != nil {
				return err
			}
			e.Events = append(e.Events, data)
			size += len(data)
		}
		options := p.bookkeeping()
		options.StartToCloseTimeout, options.HeartbeatTimeout = min(mostWrite, p.in.Settings.Heartbeat), 0
		ctx := workflow.WithActivityOptions(p.root, options)
		if err := workflow.ExecuteActivity(ctx, journalName, e).Get(p.root, nil); err != nil {
			return err
		}
		p.events += len(e.Events)
	}
	return nil
}

// mostWrite is how long one try to write the journal may take.
const mostWrite = 30 * time.Second

// Start implements driver.Runtime.
func (p *player) Start(w driver.Work) {
	p.begun = append(p.begun, begunWork{w, p.contextOf(w.Key().Agent)})
}

// startBegun starts in this run what the driver has started.
func (p *player) startBegun() {
	list := p.begun
	p.begun = nil
	for _, w := range list {
		if w.Ask != nil {
			p.ask(*w.Ask)
		} else {
			p.startEffect(w)
		}
	}
}

// contextOf is that of an agent's work, or of the work that belongs to none.
func (p *player) contextOf(agent int) workflow.Context {
	if p.ctx[agent] == nil {
		p.Begin(agent)
	}
	return p.ctx[agent]
}

// Begin implements driver.Runtime.
func (p *player) Begin(agent int) { p.ctx[agent], p.cancel[agent] = workflow.WithCancel(p.root) }

// Cancel implements driver.Runtime.
func (p *player) Cancel(agent int) {
	p.contextOf(agent)
	p.cancel[agent]()
}

// Wake implements driver.Runtime.
func (p *player) Wake(at kernel.Time) {
	p.stopTimer()
	p.wake = at
	if p.clock.Stopped > 0 {
		return
	}
	ctx, cancel := workflow.WithCancel(p.root)
	p.unwake = cancel
	workflow.Go(ctx, func(ctx workflow.Context) {
		rest := time.Duration(at-p.Now()) * time.Millisecond
		if err := workflow.Sleep(ctx, rest); err == nil {
			p.wake = 0
			p.happened(happening{event: func(at kernel.Time) turn.Event { return turn.Woke{At: at} }})
		}
	})
}

func (p *player) stopTimer() {
	if p.unwake != nil {
		p.unwake()
	}
}

// clock is the turn's: no time of the turn passes while it is stopped.
type clock struct {
	// Slept is for how long it was stopped before, and Stopped when it was stopped, 0 while
	// it runs.
	Slept   kernel.Time `json:"slept,omitempty"`
	Stopped kernel.Time `json:"stopped,omitempty"`
}

// Clock implements driver.Runtime.
func (p *player) Clock(runs bool) {
	if !runs {
		p.clock.Stopped = now(p.root)
		p.stopTimer()
		return
	}
	p.clock = clock{Slept: p.clock.Slept + now(p.root) - p.clock.Stopped}
	if p.wake > 0 {
		p.Wake(p.wake)
	}
}

// Grant implements driver.Runtime.
func (p *player) Grant(key machine.Key, refused string) {
	*p.permit(key) = permit{decided: true, refused: refused}
}

// permit is that of an attempt, which waits for it or is to come.
func (p *player) permit(key machine.Key) *permit {
	if p.permits[key] == nil {
		p.permits[key] = &permit{}
	}
	return p.permits[key]
}

// giveUp answers an attempt that may wait for its permit, and forgets it.
func (p *player) giveUp(key machine.Key, why string) {
	if p.permits[key] != nil {
		p.Grant(key, why)
		delete(p.permits, key)
	}
}

// Tell implements driver.Runtime. Who watches the turn reads its journal.
func (p *player) Tell(turn.Command) {}

// patiently has local activities tried until the store works.
func patiently(ctx workflow.Context) workflow.Context {
	return workflow.WithLocalActivityOptions(ctx, workflow.LocalActivityOptions{
		StartToCloseTimeout: mostWrite, ScheduleToCloseTimeout: storePatience, RetryPolicy: &temporal.RetryPolicy{MaximumInterval: 10 * time.Second},
	})
}

// work returns what a worker is told of an effect.
func (p *player) work(w driver.Work) work {
	limits := p.driver.Machine().Ledger().Limits
	return work{
		Session: p.in.Session, Owner: p.in.Owner, Turn: w.Turn, Effect: effectOf(w.Effect),
		Limited: !limits.None(), Priced: limits.Priced(),
	}
}

// event is what an effect came to.
func (r result) event(at kernel.Time, key machine.Key) turn.Event {
	if r.Tool != nil {
		return turn.ToolDone{At: at, Key: key, Reply: *r.Tool}
	}
	return turn.ModelDone{At: at, Key: key, Reply: *r.Model}
}

// check says what is wrong with a worker's result.
func (r result) check() error {
	if (r.Model == nil) == (r.Tool == nil) {
		return fmt.Errorf("the result of an effect is neither a model's nor a tool's")
	}
	return nil
}
