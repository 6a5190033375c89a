package agents

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/internal/machine"
	"github.com/massgen/massgen/internal/stack"
)

// AbandonAfter is how long an effect may ignore its cancellation.
const AbandonAfter = 2 * time.Second

// Begin runs an effect as Do does, in a goroutine of its own, and returns at once. It calls end
// once, from any goroutine: also when the effect panics, and when it ignores its cancellation.
// Then the effect is abandoned, and its later output is dropped.
func (d *Doer) Begin(ctx context.Context, turn machine.Turn, effect machine.Effect, end func(machine.Event, error)) {
	h := newHeard(effect)
	var first sync.Once
	over := make(chan struct{})
	finish := func(ev machine.Event, err error) {
		first.Do(func() {
			close(over)
			end(ev, err)
		})
	}
	forget := context.AfterFunc(ctx, func() {
		patience := time.NewTimer(AbandonAfter)
		defer patience.Stop()
		select {
		case <-over:
		case <-patience.C:
			finish(d.broken(ctx, effect, h, machine.Failure{
				Kind: string(backends.KindCancelled), Abandoned: true,
				Message: fmt.Sprintf("the call ignored its cancellation for %s and was abandoned", AbandonAfter),
			}))
		}
	})
	go func() {
		stack.Grow()
		defer forget()
		returned := false
		defer func() {
			if !returned { // but by runtime.Goexit, for example of a test's Fatal
				finish(d.panicked(ctx, effect, h, "its call ended its goroutine"))
			}
		}()
		ev, err := d.attempt(ctx, turn, effect, h)
		returned = true
		finish(ev, err)
	}()
}

// Perform is Begin, but waits for the result.
func (d *Doer) Perform(ctx context.Context, turn machine.Turn, effect machine.Effect) (ev machine.Event, err error) {
	over := make(chan struct{})
	d.Begin(ctx, turn, effect, func(result machine.Event, failed error) {
		ev, err = result, failed
		close(over)
	})
	<-over
	return ev, err
}

// attempt is do, but returns a result also when the effect panics.
func (d *Doer) attempt(ctx context.Context, turn machine.Turn, effect machine.Effect, h *heard) (ev machine.Event, err error) {
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
	reply := machine.ToolReply{Index: call.Key.Index, Result: ref, Error: true, Abandoned: f.Abandoned}
	if f.Abandoned {
		reply.State = machine.ToolCancelled
	}
	return reply, err
}
