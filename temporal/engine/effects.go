package engine

import (
	"errors"
	"time"

	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/massgen/massgen/agents/machine"
	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/coordinator/kernel"
	"github.com/massgen/massgen/coordinator/turn"
)

// start has a worker do an effect; its result comes to the inbox exactly once.
func (p *player) start(e machine.Effect) {
	p.out++
	key := e.EffectKey()
	limits := p.machine.Ledger().Limits
	w := work{
		Session: p.in.Session, Owner: p.in.Owner, Turn: p.machine.Turn(), Effect: effectOf(e),
		Limited: !limits.None(), Priced: limits.Priced(),
	}
	workflow.Go(p.contextOf(key.Agent), func(ctx workflow.Context) {
		r := p.perform(ctx, w, key)
		p.happened(happening{
			event: func(at kernel.Time) turn.Event {
				if r.Tool != nil {
					return turn.ToolDone{At: at, Key: key, Reply: *r.Tool}
				}
				return turn.ModelDone{At: at, Key: key, Reply: *r.Model}
			},
			stands: func() { p.out-- },
		})
	})
}

// perform has an effect done until it comes to a result. One whose worker was lost, or had
// no store to put the result in, is done again, sooner the first time than later.
func (p *player) perform(ctx workflow.Context, w work, key machine.Key) result {
	const longest = 30 * time.Second
	for wait := time.Second; ; wait = min(2*wait, longest) {
		var r result
		if w.Effect.Tool != nil {
			p.awaitHome(ctx)
		}
		var queue string
		queue, w.Lost = p.home.of(w.Effect)
		err := workflow.ExecuteActivity(p.placed(ctx, queue), performName, w).Get(ctx, &r)
		if err == nil && (r.Model == nil) != (r.Tool == nil) {
			return r
		}
		isBegun := !isUnstarted(err)
		if ctx.Err() != nil {
			return p.cancelled(w, isBegun)
		}
		if isTimeout(err) && queue != "" {
			p.leaveHome(ctx, queue)
		}
		if isBegun {
			w.Try++
			p.tries[key] = w.Try
			p.noteLost(w.Effect, key)
		}
		if workflow.Sleep(ctx, wait) != nil {
			return p.cancelled(w, isBegun)
		}
	}
}

// placed says on which queue an effect is done, "" for any worker's, and how long that may
// take.
func (p *player) placed(ctx workflow.Context, queue string) workflow.Context {
	o := workflow.ActivityOptions{
		StartToCloseTimeout: p.in.Settings.EffectLimit, HeartbeatTimeout: p.in.Settings.Heartbeat,
		WaitForCancellation: true, RetryPolicy: &temporal.RetryPolicy{MaximumAttempts: 1},
	}
	if queue != "" {
		o.TaskQueue, o.ScheduleToStartTimeout = queue, homePatience*p.in.Settings.Heartbeat
	}
	return workflow.WithActivityOptions(ctx, o)
}

func isTimeout(err error) bool {
	var timeout *temporal.TimeoutError
	return errors.As(err, &timeout)
}

// isUnstarted says that no worker has begun an activity.
func isUnstarted(err error) bool {
	var timeout *temporal.TimeoutError
	if errors.As(err, &timeout) {
		return timeout.TimeoutType() == enums.TIMEOUT_TYPE_SCHEDULE_TO_START
	}
	return temporal.IsCanceledError(err)
}

// noteLost books a model call that a worker had begun.
func (p *player) noteLost(e effect, key machine.Key) {
	if e.Model != nil {
		p.happened(happening{event: func(at kernel.Time) turn.Event { return turn.Lost{At: at, Key: key} }})
	}
}

// cancelled is the result of an effect that was cancelled and of which no worker tells.
func (p *player) cancelled(w work, isBegun bool) result {
	message := "it was not begun"
	if isBegun {
		message = "its worker was lost when it was cancelled"
	}
	if w.Effect.Tool != nil {
		return result{Tool: &machine.ToolReply{Index: w.Effect.Tool.Key.Index, Error: true, State: machine.ToolCancelled}}
	}
	return result{Model: &machine.ModelReply{Failure: &machine.Failure{
		Kind: string(backends.KindCancelled), Message: message, Unsent: !isBegun,
	}}}
}
