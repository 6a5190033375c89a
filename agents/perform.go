package agents

import (
	"context"
	"fmt"
	"runtime/debug"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/internal/machine"
	"github.com/massgen/massgen/internal/stack"
)

// Perform is Do, but returns a result also when the effect panics, and when it ignores its
// cancellation. Then the effect is abandoned, and its later output is dropped.
func (d *Doer) Perform(ctx context.Context, turn machine.Turn, effect machine.Effect) (machine.Event, error) {
	type result struct {
		event machine.Event
		err   error
	}
	done := make(chan result, 1)
	h := newHeard(effect)
	go func() {
		stack.Grow()
		returned := false
		defer func() {
			r := recover()
			if returned {
				return
			}
			message := fmt.Sprintf("its call panicked: %v", r)
			if r == nil { // runtime.Goexit, for example by a test's Fatal
				message = "its call ended its goroutine"
			}
			if d.Panicked != nil {
				d.Panicked(effect.EffectKey(), debug.Stack())
			}
			ev, err := d.broken(ctx, effect, h, machine.Failure{Kind: "panic", Message: message})
			done <- result{ev, err}
		}()
		ev, err := d.do(ctx, turn, effect, h)
		returned = true
		done <- result{ev, err}
	}()
	r, end := await(ctx, done)
	if end == abandoned {
		return d.broken(ctx, effect, h, machine.Failure{
			Kind: string(backends.KindCancelled), Abandoned: true,
			Message: abandonedText(),
		})
	}
	return r.event, r.err
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
