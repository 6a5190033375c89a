package agents

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/internal/coordination/effect"
	"github.com/massgen/massgen/internal/system/stack"
)

// AbandonAfter is how long an effect may ignore its cancellation, and a tool the end of its limit.
const AbandonAfter = 2 * time.Second

// Run runs an effect, and returns its event. The event contains a failed effect's error. The error is
// only for a store that failed, after which no event would be right. A cancelled ctx ends the effect but
// not the use of the store, so that a cancel never looks like a fault of the store. An effect that panics
// has an event too.
//
// isLate says that the effect has ignored its cancellation, or a tool the end of its limit. Then Run has
// already passed the event and the error to abandoned, from another goroutine, and returns neither. If an
// effect ends its goroutine (runtime.Goexit), Run passes them to abandoned, and does not return.
func (d *Doer) Run(ctx context.Context, turn *effect.Turn, eff effect.Effect, abandoned func(effect.Reply, error)) (ev effect.Reply, isLate bool, err error) {
	r := &running{heard: newHeard(eff), over: make(chan struct{}), abandoned: abandoned}
	forget := context.AfterFunc(ctx, func() {
		patience := time.NewTimer(AbandonAfter)
		defer patience.Stop()
		select {
		case <-r.over:
		case <-patience.C:
			r.abandon(func() (effect.Reply, error) {
				return d.broken(ctx, eff, r, effect.Failure{
					Kind: string(backends.KindCancelled), Abandoned: true,
					Message: fmt.Sprintf("the call ignored its cancellation for %s and was abandoned", AbandonAfter),
				})
			})
		}
	})
	defer forget()
	returned := false
	defer func() {
		if !returned { // but by runtime.Goexit, for example of a test's Fatal
			r.abandon(func() (effect.Reply, error) {
				return d.panicked(ctx, eff, r, "its call ended its goroutine")
			})
		}
	}()
	ev, err = d.attempt(ctx, turn, eff, r)
	returned = true
	if !r.end() {
		return nil, true, nil
	}
	return ev, false, err
}

// running is an effect under way. It ends once, in its own goroutine or in one that abandons it.
type running struct {
	heard
	isOver    atomic.Bool
	over      chan struct{} // closed by end
	abandoned func(effect.Reply, error)
}

// end ends the effect. It returns false if the effect has ended before.
func (r *running) end() bool {
	isFirst := r.isOver.CompareAndSwap(false, true)
	if isFirst {
		close(r.over)
	}
	return isFirst
}

// abandon ends the effect with a result, unless it has ended.
func (r *running) abandon(result func() (effect.Reply, error)) {
	if r.end() {
		r.abandoned(result())
	}
}

// Perform is Run in a goroutine of its own, so that it returns too when the effect is abandoned.
func (d *Doer) Perform(ctx context.Context, turn *effect.Turn, eff effect.Effect) (ev effect.Reply, err error) {
	over := make(chan struct{})
	end := func(result effect.Reply, failed error) {
		ev, err = result, failed
		close(over)
	}
	go func() {
		stack.Grow16()
		if result, isLate, failed := d.Run(ctx, turn, eff, end); !isLate {
			end(result, failed)
		}
	}()
	<-over
	return ev, err
}

// attempt runs an effect, and returns a result also when the effect panics.
func (d *Doer) attempt(ctx context.Context, turn *effect.Turn, eff effect.Effect, r *running) (ev effect.Reply, err error) {
	defer func() {
		if reason := recover(); reason != nil {
			ev, err = d.panicked(ctx, eff, r, fmt.Sprintf("its call panicked: %v", reason))
		}
	}()
	return d.do(ctx, turn, eff, r)
}

// panicked returns the result of an effect that panicked, and tells Panicked of it.
func (d *Doer) panicked(ctx context.Context, eff effect.Effect, r *running, message string) (effect.Reply, error) {
	if d.Panicked != nil {
		d.Panicked(eff.EffectKey(), debug.Stack())
	}
	return d.broken(ctx, eff, r, effect.Failure{Kind: "panic", Message: message})
}

// broken returns the result of an effect that yielded none itself.
func (d *Doer) broken(ctx context.Context, eff effect.Effect, r *running, f effect.Failure) (effect.Reply, error) {
	call, isTool := eff.(effect.ToolCall)
	if !isTool {
		partial, err := d.keepPartial(ctx, &r.heard, nil)
		return effect.ModelReply{Failure: &f, Partial: partial}, err
	}
	text := "Error: " + f.Message
	if call.IsSnapshot() { // no model gets the result
		text = f.Message
	}
	ref, err := d.Blobs.Put(context.WithoutCancel(ctx), []byte(text))
	reply := effect.ToolReply{Index: call.Key.Index, Result: ref, Error: true, Abandoned: f.Abandoned}
	if f.Abandoned {
		reply.State = effect.ToolCancelled
	}
	return reply, err
}
