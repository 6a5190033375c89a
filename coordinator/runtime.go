package coordinator

import (
	"errors"
	"slices"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/contextbuild"
	"github.com/massgen/massgen/coordinator/report"
	"github.com/massgen/massgen/internal/coordination/driver"
	"github.com/massgen/massgen/internal/coordination/effect"
	"github.com/massgen/massgen/internal/coordination/kernel"
	"github.com/massgen/massgen/internal/coordination/turn"
	"github.com/massgen/massgen/internal/models/retry"
)

// The methods of driver.Runtime. The clock, the steps and the attempts each do their part.

// Now implements driver.Runtime.
func (e *localTurn) Now() kernel.Time { return e.clock.Now() }

// Wake implements driver.Runtime.
func (e *localTurn) Wake(at kernel.Time) { e.clock.Wake(at) }

// Clock implements driver.Runtime.
func (e *localTurn) Clock(runs bool) { e.clock.Clock(runs) }

// Begin implements driver.Runtime.
func (e *localTurn) Begin(agent int) { e.steps.Begin(agent) }

// Cancel implements driver.Runtime.
func (e *localTurn) Cancel(agent int) { e.steps.Cancel(agent) }

// Grant implements driver.Runtime.
func (e *localTurn) Grant(key effect.Key, less int, refused string) {
	e.attempts.Grant(key, less, refused)
}

// Applied implements driver.Runtime. It projects the event. Append publishes the projection.
func (e *localTurn) Applied(ev turn.Event, commands []turn.Command) {
	e.summaries.heed(ev, e.view.report)
	e.unpublished = append(e.unpublished, e.view.report.Apply(ev, commands)...)
}

// publish publishes the projection of durable events.
func (e *localTurn) publish() {
	e.view.turn.events.add(e.unpublished...)
	e.unpublished = nil
}

// Append implements driver.Runtime. It stores the last events with the turn's outcome, in one
// transaction. If that fails, it stores the events alone, since they may have been paid for. Then end
// repeats the outcome, so that the error of the first try is not lost.
func (e *localTurn) Append(events []turn.Event, last bool) error {
	journal, err := encoded(events)
	if err != nil {
		return err
	}
	if !last || e.isStored || !e.mayEndWith(events) || e.endWith(journal) != nil {
		v := e.view
		err = v.panel.opts.Store.Append(v.base, v.turn.session, v.turn.number, journal...)
	}
	if err == nil {
		e.publish()
	}
	return err
}

// mayEndWith reports whether the outcome can go with these last events. It cannot if something must
// first follow from them: the question for facts, or the keeping of a sidecall's result, whose failure
// the outcome lists.
func (e *localTurn) mayEndWith(events []turn.Event) bool {
	return e.view.panel.opts.Facts == nil && !slices.ContainsFunc(events, func(ev turn.Event) bool {
		key, ok := turn.KeyOf(ev)
		return ok && key.Agent == effect.NoAgent
	})
}

// Start implements driver.Runtime.
func (e *localTurn) Start(w driver.Work) {
	switch {
	case w.Permission != nil:
		e.requestPermission(*w.Permission)
	case w.Again:
		e.startAgain(w)
	default:
		e.startEffect(w)
	}
}

// post runs a job that ends with a post. It adds the post also after runtime.Goexit.
func (e *localTurn) post(p driver.Post, job func()) {
	e.jobs.begin(func() {
		defer e.view.turn.inbox.put(p)
		job()
	})
}

// errEnded is the error of a job that ended its goroutine.
var errEnded = errors.New("it ended its goroutine (runtime.Goexit)")

func (e *localTurn) startEffect(w driver.Work) {
	key := w.Key()
	ctx := e.attempts.spending(backends.WithTrace(e.steps.Of(key.Agent), e.trace(key)), key)
	e.clock.endsAt(e.view.machine.TurnAt())
	ctx = retry.WithTimeLeft(ctx, e.clock.timeLeft)
	ctx, over := e.withProgress(ctx, w.Effect)
	known := e.tools.version
	before, done := e.inOrder(w.Effect)
	r := &result{local: e, key: key, err: errEnded}
	e.post(r, func() {
		defer done()
		waitForAll(ctx, before)
		ev, err := e.doer.Perform(ctx, w.Turn, w.Effect)
		e.view.told.end(key, false)
		over()
		if err == nil && key.Agent != effect.NoAgent {
			r.listed, err = e.tools.list(ctx, known)
		}
		r.event, r.err = ev, err
	})
}

// inOrder returns what an effect waits for, and the function to call when it has ended.
func (e *localTurn) inOrder(eff effect.Effect) (before []<-chan struct{}, done func()) {
	if call, isTool := eff.(effect.ToolCall); isTool {
		if touches, changes := e.doer.OnFiles(call); touches {
			return e.files.enter(call.Key.Agent, changes)
		}
	}
	return nil, func() {}
}

// startAgain starts work that was under way when its process ended. A tool that is not
// idempotent is not called again: the call's result says so.
func (e *localTurn) startAgain(w driver.Work) {
	call, isTool := w.Effect.(effect.ToolCall)
	if !isTool {
		e.startEffect(w)
		return
	}
	base := e.view.base
	mayRepeat, err := e.doer.MayRepeat(base, call)
	if err == nil && mayRepeat {
		e.startEffect(w)
		return
	}
	r := &result{local: e, key: w.Key(), err: errEnded}
	e.post(r, func() {
		if r.err = err; err == nil {
			r.event, r.err = e.doer.Interrupted(base, call)
		}
	})
}

// panicked publishes the panic of an effect. The jobs call it.
func (e *localTurn) panicked(key effect.Key, stack []byte) {
	e.view.turn.events.add(report.Panicked{Actor: report.ActorOf(key, e.view.id), Stack: string(stack)})
}

// trace publishes attempts that failed. The jobs call it.
func (e *localTurn) trace(key effect.Key) *backends.Trace {
	events, actor := &e.view.turn.events, report.ActorOf(key, e.view.id)
	return &backends.Trace{
		Retry: func(info backends.RetryInfo) {
			e.view.told.end(key, true)
			events.add(report.Retrying{Actor: actor, Why: contextbuild.Clean(info.Err.Error()), Wait: info.Wait})
		},
		Fallback: func(info backends.FallbackInfo) {
			e.view.told.end(key, true)
			if !info.Known { // a known fallback was published before
				events.add(report.FellBack{Actor: actor, Why: contextbuild.Clean(info.Err.Error()), To: info.To})
			}
		},
	}
}
