package agents

import (
	"context"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/internal/coordination/effect"
	"github.com/massgen/massgen/internal/system/blob"
)

// AbandonAfter is how long an effect may ignore its cancellation, or a tool its limit.
const AbandonAfter = 2 * time.Second

// running is an effect under way.
type running struct {
	heard
	// overdue gets the limit of a tool call that has ignored it for AbandonAfter.
	overdue chan overtime
	ended   chan ending
}

// ending is the end of an effect. If the effect panicked or ended its goroutine, broken says so, and stack is
// its stack.
type ending struct {
	event  effect.Reply
	err    error
	broken string
	stack  []byte
}

// Perform runs an effect in a goroutine of its own, and returns its one result. The result contains the effect's
// error, if it fails, panics or ends its goroutine (runtime.Goexit). If the effect ignores its cancellation for
// AbandonAfter, or a tool ignores its limit as long, Perform abandons it: its goroutine goes on alone, and its
// later result is lost. Perform returns an error only if the store fails. A cancelled ctx ends the effect but not
// the use of the store, so that a cancel never looks like a fault of the store.
func (d *Doer) Perform(ctx context.Context, turn *effect.Turn, eff effect.Effect) (effect.Reply, error) {
	r := &running{heard: newHeard(eff), overdue: make(chan overtime, 1), ended: make(chan ending, 1)}
	go func() {
		end := ending{broken: "its call ended its goroutine"}
		defer func() {
			if reason := recover(); reason != nil {
				end.broken = fmt.Sprintf("its call panicked: %v", reason)
			}
			if end.broken != "" {
				end.stack = debug.Stack()
			}
			r.ended <- end
		}()
		event, err := d.do(ctx, turn, eff, r)
		end = ending{event: event, err: err}
	}()
	cancelled, patience := ctx.Done(), (<-chan time.Time)(nil)
	for {
		select {
		case end := <-r.ended:
			return d.result(ctx, eff, r, end)
		case late := <-r.overdue:
			return d.stopped(ctx, eff, late)
		case <-cancelled:
			cancelled, patience = nil, time.After(AbandonAfter)
		case <-patience:
			return d.broken(ctx, eff, r, effect.Failure{
				Kind: string(backends.KindCancelled), Abandoned: true,
				Message: fmt.Sprintf("the call ignored its cancellation for %s and was abandoned", AbandonAfter),
			})
		}
	}
}

// result returns the result of an effect that ended.
func (d *Doer) result(ctx context.Context, eff effect.Effect, r *running, end ending) (effect.Reply, error) {
	if end.broken == "" {
		return end.event, end.err
	}
	if d.Panicked != nil {
		d.Panicked(eff.EffectKey(), end.stack)
	}
	return d.broken(ctx, eff, r, effect.Failure{Kind: "panic", Message: end.broken})
}

// stopped returns the result of a tool call that ignored its limit.
func (d *Doer) stopped(ctx context.Context, eff effect.Effect, late overtime) (effect.Reply, error) {
	ref, err := d.Blobs.Put(context.WithoutCancel(ctx), []byte("Error: "+late.Error()))
	return effect.ToolReply{
		Index: eff.EffectKey().Index, Result: ref, Error: true, Abandoned: true, ElapsedMS: (late.limit + AbandonAfter).Milliseconds(),
	}, err
}

// broken returns the result of an effect that has not made one itself.
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
	stored := context.WithoutCancel(ctx)
	var ref blob.Ref
	var err error
	if call.IsCheck() {
		ref, err = PutJSON(stored, d.Blobs, Checked{Exit: -1, Output: f.Message})
	} else {
		ref, err = d.Blobs.Put(stored, []byte(text))
	}
	reply := effect.ToolReply{Index: call.Key.Index, Result: ref, Error: true, Abandoned: f.Abandoned}
	if f.Abandoned {
		reply.State = effect.ToolCancelled
	}
	return reply, err
}
