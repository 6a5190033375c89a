package engine

import (
	"cmp"
	"errors"
	"time"

	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/internal/kernel"
	"github.com/massgen/massgen/internal/machine"
	"github.com/massgen/massgen/internal/turn"
)

// home is the worker that has the tools of a turn's agents, and their files.
type home struct {
	// Queue is its own, empty where no agent has tools. Lost says that the worker is.
	Queue string `json:"queue,omitempty"`
	Lost  bool   `json:"lost,omitempty"`
}

// homePatience is after how many heartbeats a worker that does not take a tool call is asked
// whether it lives.
const homePatience = 3

// startEffect has a worker do an effect; its result comes to the inbox exactly once.
func (p *player) startEffect(w begunWork) {
	key := w.Key()
	told := p.work(w.Work)
	workflow.Go(w.ctx, func(ctx workflow.Context) {
		r, err := p.perform(ctx, told, key)
		p.happened(happening{endsWork: true, fault: err, event: func(at kernel.Time) turn.Event { return r.event(at, key) }})
	})
}

// perform has an effect done until it comes to a result. One whose worker was lost, or had
// no store to put the result in, is done again, sooner the first time than later. The error
// says that the turn is not this workflow's any more.
func (p *player) perform(ctx workflow.Context, w work, key machine.Key) (result, error) {
	const longest = 30 * time.Second
	for wait := time.Second; ; wait = min(2*wait, longest) {
		queue := ""
		if w.Effect.Tool != nil {
			queue, w.Lost = p.home.Queue, p.home.Lost
		}
		r, err := p.performAt(ctx, queue, homePatience, w)
		if isTimeout(err) && ctx.Err() == nil {
			r, err = p.rejoin(ctx, queue, w, err)
		}
		if err == nil || isOfKind(err, refusedKind) {
			return r, err
		}
		isBegun := !isUnsent(err)
		if ctx.Err() != nil {
			return p.cancelled(w, isBegun), nil //nolint:nilerr // its result says so
		}
		if isEnded(err) {
			p.loseHome(queue)
		}
		if isBegun {
			w.Try++
			p.tries[key] = w.Try
			p.noteLost(w.Effect, key)
		}
		if workflow.Sleep(ctx, wait) != nil {
			return p.cancelled(w, isBegun), nil //nolint:nilerr // likewise
		}
	}
}

// performAt has an effect done once, by the worker of a queue, which is to take it within so
// many heartbeats, or for "" by any worker.
func (p *player) performAt(ctx workflow.Context, queue string, heartbeats int, w work) (r result, err error) {
	o := workflow.ActivityOptions{
		StartToCloseTimeout: p.in.Settings.EffectLimit, HeartbeatTimeout: p.in.Settings.Heartbeat,
		WaitForCancellation: true, RetryPolicy: &temporal.RetryPolicy{MaximumAttempts: 1},
	}
	if queue != "" {
		o.TaskQueue, o.ScheduleToStartTimeout = queue, time.Duration(heartbeats)*p.in.Settings.Heartbeat
	}
	if err = workflow.ExecuteActivity(workflow.WithActivityOptions(ctx, o), performName, w).Get(ctx, &r); err == nil {
		err = r.check()
	}
	return r, err
}

// rejoin asks the worker that has an effect under way, or has not taken it, for the result:
// the server may have been away, the worker slow, or the server's word to it lost on the way.
// The error is lost, which made this necessary, unless that worker lives and has not begun
// the effect, or no worker has announced that it would.
func (p *player) rejoin(ctx workflow.Context, queue string, w work, lost error) (result, error) {
	at := cmp.Or(queue, workerOf(lost))
	w.Joins = true
	r, err := p.performAt(ctx, at, 1, w)
	switch {
	case err == nil:
		return r, nil
	case at != "" && isUnstarted(err):
		p.loseHome(at)
	case isOfKind(err, unsentKind) && (at != "" || isUnstarted(lost) || isSilent(lost)): // it lives, and has not begun
		return r, err
	}
	return r, lost
}

// workerOf returns the queue of the worker that has told last that it lives, "" if none has.
func workerOf(err error) (queue string) {
	var timeout *temporal.TimeoutError
	if errors.As(err, &timeout) && timeout.HasLastHeartbeatDetails() {
		_ = timeout.LastHeartbeatDetails(&queue) // what is no queue names no worker
	}
	return queue
}

// loseHome notes that a worker is lost: if it has the tools, they are lost with it.
func (p *player) loseHome(queue string) {
	if queue != "" && p.home.Queue == queue {
		p.home = home{Lost: true}
	}
}

func isTimeout(err error) bool {
	var timeout *temporal.TimeoutError
	return errors.As(err, &timeout)
}

// isUnstarted says that no worker has taken an activity.
func isUnstarted(err error) bool {
	var timeout *temporal.TimeoutError
	return errors.As(err, &timeout) && timeout.TimeoutType() == enums.TIMEOUT_TYPE_SCHEDULE_TO_START
}

// isSilent says that a worker was not heard of for too long.
func isSilent(err error) bool {
	var timeout *temporal.TimeoutError
	return errors.As(err, &timeout) && timeout.TimeoutType() == enums.TIMEOUT_TYPE_HEARTBEAT
}

// isUnsent says that no worker has begun what an effect asks for.
func isUnsent(err error) bool {
	return isUnstarted(err) || temporal.IsCanceledError(err) || isOfKind(err, unsentKind)
}

// isEnded says that a worker was told to end.
func isEnded(err error) bool { return isOfKind(err, endedKind) }

func isOfKind(err error, kind string) bool {
	var failed *temporal.ApplicationError
	return errors.As(err, &failed) && failed.Type() == kind
}

// noteLost books a model call that a worker had begun.
func (p *player) noteLost(e effect, key machine.Key) {
	if e.Model == nil {
		return
	}
	p.giveUp(key, lostWord)
	p.happened(happening{event: func(at kernel.Time) turn.Event { return turn.Lost{At: at, Key: key} }})
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
