package coordinator

import (
	"context"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/massgen/massgen/agents/machine"
	"github.com/massgen/massgen/backends"
)

// perform runs one effect to exactly one result: also when it panics, and when it
// ignores its cancellation, after which it is left behind and whatever it still
// comes to is dropped.
func (e *engine) perform(ctx context.Context, described machine.Turn, effect machine.Effect) (machine.Event, error) {
	done := make(chan result, 1)
	go func() {
		defer func() {
			if r := recover(); r != nil {
				e.turn.events.add(Event{Kind: Panicked, Agent: e.id(effect.EffectKey().Agent), Text: string(debug.Stack())})
				ev, err := e.broken(effect, machine.Failure{Kind: "panic", Message: fmt.Sprintf("its call panicked: %v", r)})
				done <- result{event: ev, err: err}
			}
		}()
		ev, err := e.doer.Do(ctx, described, effect)
		done <- result{event: ev, err: err}
	}()
	select {
	case r := <-done:
		return r.event, r.err
	case <-ctx.Done():
	}
	patience := time.NewTimer(abandonAfter)
	defer patience.Stop()
	select {
	case r := <-done:
		return r.event, r.err
	case <-patience.C:
		return e.broken(effect, machine.Failure{
			Kind: string(backends.KindCancelled), Abandoned: true,
			Message: fmt.Sprintf("the call ignored its cancellation for %s and was abandoned", abandonAfter),
		})
	}
}

// broken is the result of an effect that yielded none itself.
func (e *engine) broken(effect machine.Effect, f machine.Failure) (machine.Event, error) {
	call, isTool := effect.(machine.ToolCall)
	if !isTool {
		return machine.ModelReply{Failure: &f}, nil
	}
	ref, err := e.panel.opts.Store.Put(e.base, []byte("Error: "+f.Message))
	return machine.ToolReply{Index: call.Key.Index, Result: ref, Error: true, Abandoned: f.Abandoned}, err
}
