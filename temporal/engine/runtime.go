package engine

import (
	"fmt"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/massgen/massgen/internal/coordination/driver"
	"github.com/massgen/massgen/internal/coordination/effect"
	"github.com/massgen/massgen/internal/coordination/kernel"
	"github.com/massgen/massgen/internal/coordination/turn"
)

// The player is the runtime of a turn that a workflow plays: work is activities, and the
// workflow's history is the truth, from which the journal in the store is written.

// Now implements driver.Runtime.
func (p *player) Now() kernel.Time { return p.timer.now(p.root) }

// mostWrite is the longest time for one try to write the journal.
const mostWrite = 30 * time.Second

// Start implements driver.Runtime.
func (p *player) Start(w driver.Work) {
	p.begun = append(p.begun, begunWork{Work: w, ctx: p.Of(w.Key().Agent)})
}

// startBegun starts in this run the work that the driver has started.
func (p *player) startBegun() error {
	list := p.begun
	p.begun = nil
	if p.in.Form >= turnsByTexts {
		if err := pack(p, list); err != nil {
			return err
		}
	}
	for _, w := range list {
		if w.Permission != nil {
			p.requestPermission(*w.Permission)
		} else {
			p.startEffect(w)
		}
	}
	return nil
}

// newSteps returns the contexts of a turn's work.
func newSteps(root workflow.Context) driver.Steps[workflow.Context] {
	return driver.NewSteps(func(int) (workflow.Context, func()) { return workflow.WithCancel(root) })
}

// Wake implements driver.Runtime.
func (p *player) Wake(at kernel.Time) {
	p.timer.set(p.root, at, func() {
		p.happened(happening{event: func(at kernel.Time) turn.Event { return kernel.Woke{At: at} }})
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

// clock is the turn's clock: the turn's time stands still while it is stopped.
type clock struct {
	// Slept is how long the clock was stopped before, and Stopped the moment at which it was
	// stopped, 0 while it runs.
	Slept   kernel.Time `json:"slept,omitempty"`
	Stopped kernel.Time `json:"stopped,omitempty"`
}

// started returns the clock, running from now on.
func (c clock) started(now kernel.Time) clock { return clock{Slept: c.Slept + now - c.Stopped} }

// timer rings once, at wake by its clock; 0 is never.
type timer struct {
	// letGo ends what keeps the session while the clock is stopped.
	letGo func()

	clock  clock
	wake   kernel.Time
	cancel workflow.CancelFunc
}

// now returns the turn's time.
func (t *timer) now(ctx workflow.Context) kernel.Time {
	if t.clock.Stopped > 0 {
		return t.clock.Stopped - t.clock.Slept
	}
	return now(ctx) - t.clock.Slept
}

// set replaces the moment at which the timer calls rings. While the clock is stopped, set only
// records the moment.
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

// attempts are the attempts of calls that request budget.
type attempts struct {
	permits map[effect.Key]*permit
	// tries counts, for each call, the workers that began it and were lost.
	tries map[effect.Key]int
}

// permit is the machine's answer to an attempt, once it has decided.
type permit struct {
	answer
	decided bool
}

func newAttempts() attempts {
	return attempts{map[effect.Key]*permit{}, map[effect.Key]int{}}
}

// permit returns an attempt's permit, creating it if needed.
func (a attempts) permit(key effect.Key) *permit {
	if a.permits[key] == nil {
		a.permits[key] = &permit{}
	}
	return a.permits[key]
}

// Grant implements driver.Runtime.
func (a attempts) Grant(key effect.Key, less int, refused string) {
	*a.permit(key) = permit{answer{refused, less}, true}
}

// giveUp answers an attempt that may wait for its permit, and deletes the permit.
func (a attempts) giveUp(key effect.Key, why string) {
	if a.permits[key] != nil {
		a.Grant(key, 0, why)
		delete(a.permits, key)
	}
}

// Applied implements driver.Runtime. Processes that watch the turn read its journal.
func (p *player) Applied(turn.Event, []turn.Command) {}

// patiently returns a context whose local activities are repeated until the store works.
func patiently(ctx workflow.Context, most time.Duration) workflow.Context {
	return workflow.WithLocalActivityOptions(ctx, workflow.LocalActivityOptions{
		StartToCloseTimeout: most, ScheduleToCloseTimeout: storePatience, RetryPolicy: &temporal.RetryPolicy{MaximumInterval: 10 * time.Second},
	})
}

// work returns the input of an effect's activity with all that the effect needs.
func (p *player) work(w driver.Work) work {
	limits := p.driver.Machine().Ledger().Limits
	sent := work{
		Session: p.in.Session, Owner: p.in.Owner, Effect: effectOf(w.Effect),
		Limited: !limits.None(), Priced: limits.Priced(),
	}
	if w.Turn != nil {
		sent.Turn = *w.Turn
	}
	return sent
}

// event returns the result as an event.
func (r result) event(at kernel.Time, key effect.Key) turn.Event {
	if r.Tool != nil {
		return turn.ToolDone{At: at, Key: key, Reply: *r.Tool}
	}
	return turn.ModelDone{At: at, Key: key, Reply: *r.Model}
}

// check returns an error for an invalid result of a worker.
func (r result) check() error {
	if (r.Model == nil) == (r.Tool == nil) {
		return fmt.Errorf("the result of an effect is neither a model's nor a tool's")
	}
	return nil
}
