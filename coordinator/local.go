package coordinator

import (
	"fmt"
	"slices"
	"sync"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/internal/coordination/driver"
	"github.com/massgen/massgen/internal/coordination/effect"
	"github.com/massgen/massgen/internal/coordination/kernel"
	"github.com/massgen/massgen/internal/coordination/turn"
	"github.com/massgen/massgen/internal/models/retry"
)

// A localTurn is the runtime of turns that this process plays. Work runs in other goroutines than the
// player's, or in the player's when nothing else is left to do.

// Append implements driver.Runtime. It stores the last events with the turn's outcome, in one
// transaction. If that fails, it stores the events alone, since they may have been paid for. Then end
// repeats the outcome, so that the error of the first try is not lost.
func (e *localTurn) Append(events []turn.Event, last bool) error {
	journal, err := encoded(events)
	if err != nil {
		return err
	}
	if !last || e.isStored || !e.mayEndWith(events) || e.endWith(journal) != nil {
		err = e.panel.opts.Store.Append(e.base, e.turn.session, e.turn.number, journal...)
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
	return e.panel.opts.Facts == nil && !slices.ContainsFunc(events, func(ev turn.Event) bool {
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

func (e *localTurn) startEffect(w driver.Work) {
	key := w.Key()
	ctx := e.spending(backends.WithTrace(e.Of(key.Agent), e.trace(key)), key)
	e.endsAt(e.machine.TurnAt())
	ctx = retry.WithTimeLeft(ctx, e.timeLeft)
	ctx, over := e.withProgress(ctx, w.Effect)
	known := e.toolsVersion
	resultOf := func(ev effect.Reply, err error) result {
		over()
		r := result{local: e, key: key, event: ev, err: err}
		if err == nil && key.Agent != effect.NoAgent {
			r.listed, r.err = e.listTools(ctx, known, func(l *toolListing) {
				r.listed = l
				e.turn.inbox.put(r)
			})
		}
		return r
	}
	before, done := e.inOrder(w.Effect)
	abandoned := func(ev effect.Reply, err error) {
		done()
		e.turn.inbox.put(resultOf(ev, err))
	}
	e.begin(func() (driver.Post, bool) {
		defer done()
		waitForAll(ctx, before)
		ev, isLate, err := e.doer.Run(ctx, w.Turn, w.Effect, abandoned)
		if isLate {
			return nil, true
		}
		return resultOf(ev, err), false
	})
}

// inOrder returns what an effect waits for, and the function to call when it has ended or was abandoned, or both.
func (e *localTurn) inOrder(eff effect.Effect) (before []<-chan struct{}, done func()) {
	call, isTool := eff.(effect.ToolCall)
	if !isTool {
		return nil, func() {}
	}
	touches, changes := e.doer.OnFiles(call)
	if !touches {
		return nil, func() {}
	}
	if e.files == nil {
		e.files = map[int]*fileOrder{}
	}
	order := e.files[call.Key.Agent]
	if order == nil {
		order = &fileOrder{}
		e.files[call.Key.Agent] = order
	}
	before, over := order.enter(changes)
	return before, sync.OnceFunc(func() { close(over) })
}

// startAgain starts work that was under way when its process ended. A tool that is not
// idempotent is not called again: the call's result says so.
func (e *localTurn) startAgain(w driver.Work) {
	call, isTool := w.Effect.(effect.ToolCall)
	if !isTool {
		e.startEffect(w)
		return
	}
	mayRepeat, err := e.doer.MayRepeat(e.base, call)
	if err == nil && mayRepeat {
		e.startEffect(w)
		return
	}
	e.begin(func() (driver.Post, bool) {
		r := result{local: e, key: w.Key(), err: err}
		if err == nil {
			r.event, r.err = e.doer.Interrupted(e.base, call)
		}
		return r, false
	})
}

// result is the result of an effect.
type result struct {
	local *localTurn
	key   effect.Key
	event effect.Reply
	// listed is set if the agents' tools may have changed.
	listed *toolListing
	err    error
}

// EndsWork implements driver.Post.
func (result) EndsWork() bool { return true }

// Events implements driver.Post.
func (r result) Events(at kernel.Time) ([]turn.Event, error) {
	key := r.key
	if r.err != nil && key.Agent == effect.NoAgent {
		return nil, fmt.Errorf("%s: %w", key.Purpose, r.err)
	}
	if r.err != nil {
		return nil, fmt.Errorf("%s, %s: %w", r.local.id(key.Agent), key.Purpose, r.err)
	}
	events := r.local.acceptTools(r.listed, at)
	switch ev := r.event.(type) {
	case effect.ModelReply:
		return append(events, turn.ModelDone{At: at, Key: key, Reply: ev}), nil
	case effect.ToolReply:
		return append(events, turn.ToolDone{At: at, Key: key, Reply: ev}), nil
	}
	return nil, fmt.Errorf("%s: an effect ended with %T", key, r.event)
}

// Reply implements driver.Post. Once the journal has a sidecall's result, Reply passes it to
// Sidecall.Keep.
func (r result) Reply(err error) {
	if reply, ok := r.event.(effect.ModelReply); ok && err == nil && r.key.Agent == effect.NoAgent {
		r.local.launchNow()
		r.local.keep(turn.ModelDone{Key: r.key, Reply: reply})
	}
}

// happening is an event that the turn's maker has made.
type happening struct {
	unheard
	event turn.Event
}

// Events implements driver.Post.
func (o happening) Events(kernel.Time) ([]turn.Event, error) { return []turn.Event{o.event}, nil }

// woke is a ring of the clock.
type woke struct{ unheard }

// Events implements driver.Post.
func (woke) Events(at kernel.Time) ([]turn.Event, error) {
	return []turn.Event{kernel.Woke{At: at}}, nil
}

// interrupt is a person, or a context, that ends the turn.
type interrupt struct{ unheard }

// Events implements driver.Post.
func (interrupt) Events(at kernel.Time) ([]turn.Event, error) {
	return []turn.Event{kernel.Interrupted{At: at}}, nil
}

// unheard is embedded in posts that nobody waits for and that end no work.
type unheard struct{}

// Reply implements driver.Post.
func (unheard) Reply(error) {}

// EndsWork implements driver.Post.
func (unheard) EndsWork() bool { return false }
