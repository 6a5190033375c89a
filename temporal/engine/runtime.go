package engine

import (
	"fmt"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/massgen/massgen/internal/driver"
	"github.com/massgen/massgen/internal/kernel"
	"github.com/massgen/massgen/internal/machine"
	"github.com/massgen/massgen/internal/turn"
)

// The player is the runtime of a turn that is played by a workflow: work is activities, and
// the workflow's history is the truth, from which the journal in the store is written.

// Now implements driver.Runtime.
func (p *player) Now() kernel.Time { return p.timer.now(p.root) }

// mostEntry is about how many bytes of events one activity is given: the server takes no
// more than 2 MB at once.
const mostEntry = 512 << 10

// Append implements driver.Runtime. Which events it writes at which places stands in the
// workflow's history before an activity writes them, so that a second try writes the same.
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
	p.begun = append(p.begun, begunWork{w, p.Of(w.Key().Agent)})
}

// startBegun starts in this run what the driver has started.
func (p *player) startBegun() {
	list := p.begun
	p.begun = nil
	for _, w := range list {
		if w.Permission != nil {
			p.requestPermission(*w.Permission)
		} else {
			p.startEffect(w)
		}
	}
}

// newSteps returns the contexts of a turn's work.
func newSteps(root workflow.Context) driver.Steps[workflow.Context] {
	return driver.NewSteps(func(int) (workflow.Context, func()) { return workflow.WithCancel(root) })
}

// Wake implements driver.Runtime.
func (p *player) Wake(at kernel.Time) {
	p.timer.set(p.root, at, func() {
		p.happened(happening{event: func(at kernel.Time) turn.Event { return turn.Woke{At: at} }})
	})
}

// Clock implements driver.Runtime.
func (p *player) Clock(runs bool) {
	if !runs {
		p.timer.halt(p.root)
		return
	}
	p.timer.clock = p.timer.clock.started(now(p.root))
	if p.timer.wake > 0 {
		p.Wake(p.timer.wake)
	}
}

// clock is the turn's: no time of the turn passes while it is stopped.
type clock struct {
	// Slept is for how long it was stopped before, and Stopped when it was stopped, 0 while
	// it runs.
	Slept   kernel.Time `json:"slept,omitempty"`
	Stopped kernel.Time `json:"stopped,omitempty"`
}

// started is the clock as it runs again from now on.
func (c clock) started(now kernel.Time) clock { return clock{Slept: c.Slept + now - c.Stopped} }

// timer goes off once, at wake by its clock; 0 is never.
type timer struct {
	clock  clock
	wake   kernel.Time
	cancel workflow.CancelFunc
}

// now is the time of the turn.
func (t *timer) now(ctx workflow.Context) kernel.Time {
	if t.clock.Stopped > 0 {
		return t.clock.Stopped - t.clock.Slept
	}
	return now(ctx) - t.clock.Slept
}

// set replaces the moment, at which rings is called. While the clock is stopped it only notes
// it.
func (t *timer) set(ctx workflow.Context, at kernel.Time, rings func()) {
	t.stop()
	t.wake = at
	if t.clock.Stopped > 0 {
		return
	}
	ctx, t.cancel = workflow.WithCancel(ctx)
	workflow.Go(ctx, func(ctx workflow.Context) {
		rest := time.Duration(at-t.now(ctx)) * time.Millisecond
		if err := workflow.Sleep(ctx, rest); err == nil {
			t.wake = 0
			rings()
		}
	})
}

// halt stops the clock.
func (t *timer) halt(ctx workflow.Context) {
	t.clock.Stopped = now(ctx)
	t.stop()
}

func (t *timer) stop() {
	if t.cancel != nil {
		t.cancel()
	}
}

// attempts are those of calls that ask for budget.
type attempts struct {
	permits map[machine.Key]*permit
	// tries counts, of each call, the workers that had begun it and were lost.
	tries map[machine.Key]int
}

// permit is the machine's answer to an attempt, once it is decided.
type permit struct {
	answer
	decided bool
}

func newAttempts() attempts {
	return attempts{map[machine.Key]*permit{}, map[machine.Key]int{}}
}

// permit returns an attempt's permit, creating it if needed.
func (a attempts) permit(key machine.Key) *permit {
	if a.permits[key] == nil {
		a.permits[key] = &permit{}
	}
	return a.permits[key]
}

// Grant implements driver.Runtime.
func (a attempts) Grant(key machine.Key, less int, refused string) {
	*a.permit(key) = permit{answer{refused, less}, true}
}

// giveUp answers an attempt that may wait for its permit, and forgets it.
func (a attempts) giveUp(key machine.Key, why string) {
	if a.permits[key] != nil {
		a.Grant(key, 0, why)
		delete(a.permits, key)
	}
}

// Tell implements driver.Runtime. Who watches the turn reads its journal.
func (p *player) Tell(turn.Event, []turn.Command) {}

// patiently has local activities tried until the store works.
func patiently(ctx workflow.Context) workflow.Context {
	return workflow.WithLocalActivityOptions(ctx, workflow.LocalActivityOptions{
		StartToCloseTimeout: mostWrite, ScheduleToCloseTimeout: storePatience, RetryPolicy: &temporal.RetryPolicy{MaximumInterval: 10 * time.Second},
	})
}

// work returns the input of an effect's activity.
func (p *player) work(w driver.Work) work {
	limits := p.driver.Machine().Ledger().Limits
	return work{
		Session: p.in.Session, Owner: p.in.Owner, Turn: w.Turn, Effect: effectOf(w.Effect),
		Limited: !limits.None(), Priced: limits.Priced(),
	}
}

// event returns the result as an event.
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
