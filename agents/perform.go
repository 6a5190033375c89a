package agents

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/internal/machine"
	"github.com/massgen/massgen/internal/stack"
)

// AbandonAfter is how long an effect may ignore its cancellation, and a tool the end of its limit.
const AbandonAfter = 2 * time.Second

// Run runs an effect, and returns its event. The event contains a failed effect's error. The error is
// only for a store that failed, after which no event would be right. A cancelled ctx ends the effect but
// not the use of the store, so that a cancel never looks like a fault of the store. An effect that panics
// has an event too.
//
// isLate says that there is none, since the effect has ignored its cancellation and was abandoned. Then
// Run has passed what it would have returned to abandoned, from another goroutine. It does so too if the
// effect ends its goroutine.
func (d *Doer) Run(ctx context.Context, turn *machine.Turn, effect machine.Effect, abandoned func(machine.Event, error)) (ev machine.Event, isLate bool, err error) {
	h := newHeard(effect)
	ctx, release := d.limited(ctx, turn, effect)
	defer release()
	over := make(chan struct{}, 1)
	forget := context.AfterFunc(ctx, func() {
		patience := time.NewTimer(AbandonAfter)
		defer patience.Stop()
		select {
		case <-over:
		case <-patience.C:
			if isFirst(over) {
				abandoned(d.abandoned(ctx, effect, h))
			}
		}
	})
	defer forget()
	returned := false
	defer func() {
		if !returned && isFirst(over) { // but by runtime.Goexit, for example of a test's Fatal
			abandoned(d.panicked(ctx, effect, h, "its call ended its goroutine"))
		}
	}()
	ev, err = d.attempt(ctx, turn, effect, h)
	returned = true
	return ev, !isFirst(over), err
}

// isFirst puts the end of an effect into over, which has room for one. It returns false if over has
// an end already.
func isFirst(over chan<- struct{}) bool {
	select {
	case over <- struct{}{}:
		return true
	default:
		return false
	}
}

// Perform is Run in a goroutine of its own, so that it returns too when the effect is abandoned.
func (d *Doer) Perform(ctx context.Context, turn *machine.Turn, effect machine.Effect) (ev machine.Event, err error) {
	over := make(chan struct{})
	end := func(result machine.Event, failed error) {
		ev, err = result, failed
		close(over)
	}
	go func() {
		stack.Grow()
		if result, isLate, failed := d.Run(ctx, turn, effect, end); !isLate {
			end(result, failed)
		}
	}()
	<-over
	return ev, err
}

// overtime is the cause of a context that ended with the limit of a tool call, in the words for the model.
type overtime struct {
	tool  string
	limit time.Duration
}

func (o overtime) Error() string {
	return fmt.Sprintf("the tool %s was stopped after %s, the most that a call may take. Go on without it, or ask it for less.", o.tool, o.limit)
}

// overtimeOf returns the overtime that ended ctx, if that is why it ended.
func overtimeOf(ctx context.Context) (o overtime, is bool) {
	is = errors.As(context.Cause(ctx), &o)
	return o, is
}

// limited returns the context of an effect. The context of a tool call ends with the call's limit.
func (d *Doer) limited(ctx context.Context, turn *machine.Turn, effect machine.Effect) (context.Context, context.CancelFunc) {
	call, isTool := effect.(machine.ToolCall)
	limit := time.Duration(turn.Limits.ToolLimit) * time.Millisecond
	if !isTool || limit <= 0 || call.IsSnapshot() || d.member(call.Key.Agent).isForwarded(call.Name) {
		return ctx, func() {}
	}
	return context.WithTimeoutCause(ctx, limit, overtime{call.Name, limit})
}

// attempt runs an effect, and returns a result also when the effect panics.
func (d *Doer) attempt(ctx context.Context, turn *machine.Turn, effect machine.Effect, h *heard) (ev machine.Event, err error) {
	defer func() {
		if r := recover(); r != nil {
			ev, err = d.panicked(ctx, effect, h, fmt.Sprintf("its call panicked: %v", r))
		}
	}()
	return d.do(ctx, turn, effect, h)
}

// panicked returns the result of an effect that panicked, and tells Panicked of it.
func (d *Doer) panicked(ctx context.Context, effect machine.Effect, h *heard, message string) (machine.Event, error) {
	if d.Panicked != nil {
		d.Panicked(effect.EffectKey(), debug.Stack())
	}
	return d.broken(ctx, effect, h, machine.Failure{Kind: "panic", Message: message})
}

// abandoned returns the result of an effect that ignored the end of its context.
func (d *Doer) abandoned(ctx context.Context, effect machine.Effect, h *heard) (machine.Event, error) {
	f := machine.Failure{
		Kind: string(backends.KindCancelled), Abandoned: true,
		Message: fmt.Sprintf("the call ignored its cancellation for %s and was abandoned", AbandonAfter),
	}
	late, isLate := overtimeOf(ctx)
	if isLate {
		f.Message = late.Error()
	}
	ev, err := d.broken(ctx, effect, h, f)
	if reply, isTool := ev.(machine.ToolReply); isTool {
		reply.Abandoned = true
		if !isLate {
			reply.State = machine.ToolCancelled
		}
		ev = reply
	}
	return ev, err
}

// broken returns the result of an effect that yielded none itself.
func (d *Doer) broken(ctx context.Context, effect machine.Effect, h *heard, f machine.Failure) (machine.Event, error) {
	call, isTool := effect.(machine.ToolCall)
	if !isTool {
		partial, err := d.keepPartial(ctx, h, nil)
		return machine.ModelReply{Failure: &f, Partial: partial}, err
	}
	text := "Error: " + f.Message
	if call.IsSnapshot() { // no model gets the result
		text = f.Message
	}
	ref, err := d.Blobs.Put(context.WithoutCancel(ctx), []byte(text))
	return machine.ToolReply{Index: call.Key.Index, Result: ref, Error: true, ElapsedMS: time.Since(h.begun).Milliseconds()}, err
}
