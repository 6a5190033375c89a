package engine

import (
	"cmp"
	"errors"
	"slices"
	"time"

	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/internal/coordination/effect"
	"github.com/massgen/massgen/internal/coordination/kernel"
	"github.com/massgen/massgen/internal/coordination/turn"
)

// home is the worker that has the tools and the files of a turn's agents.
type home struct {
	// Queue is the task queue that only this worker listens to, empty if no agent has tools.
	// Lost reports whether the worker is lost.
	Queue string `json:"queue,omitempty"`
	Lost  bool   `json:"lost,omitempty"`
}

// homeAtWork is the home of a turn, with the effects that are scheduled for it, in their order.
type homeAtWork struct {
	home
	cancels []*workflow.CancelFunc
}

// enter adds an effect until done is called, unless queue is "". The effect is run in the context that it returns.
func (h *homeAtWork) enter(ctx workflow.Context, queue string) (at workflow.Context, done func()) {
	if queue == "" {
		return ctx, func() {}
	}
	at, cancel := workflow.WithCancel(ctx)
	h.cancels = append(h.cancels, &cancel)
	return at, func() {
		cancel()
		h.cancels = slices.DeleteFunc(h.cancels, func(c *workflow.CancelFunc) bool { return c == &cancel })
	}
}

// lose records that the worker of a queue is lost. If this worker has the tools of the turn, the tools
// are lost too.
func (h *homeAtWork) lose(queue string) {
	if queue != "" && h.Queue == queue {
		h.home = home{Lost: true}
	}
}

// ended records that the worker of a queue has said that it ended. What it had begun, it has given back before. An
// effect that was scheduled for it meanwhile would wait for a worker that is not there, so it is taken back.
func (h *homeAtWork) ended(queue string) {
	if h.Queue != queue {
		return
	}
	h.lose(queue)
	for _, cancel := range slices.Clone(h.cancels) {
		(*cancel)()
	}
}

// takingPatience returns how many heartbeats the worker of a queue has to take a tool call.
// After them the workflow checks whether the worker lives.
func takingPatience(queue string) int {
	if isSigned(queue) { // then it has silencePatience more
		return 1
	}
	return 3
}

// startEffect lets a worker run an effect. The effect's result comes to the inbox exactly once.
func (p *player) startEffect(w begunWork) {
	key := w.Key()
	told := p.work(w.Work)
	if w.sent != nil {
		told = *w.sent
	}
	workflow.Go(w.ctx, func(ctx workflow.Context) {
		r, err := p.perform(ctx, told, key)
		if s := r.Settled; s != nil && s.Try >= p.tries[key] { // else it was booked when its worker was lost
			p.happened(happening{event: s.event})
		}
		p.happened(happening{endsWork: true, fault: err, event: func(at kernel.Time) turn.Event { return r.event(at, key) }})
	})
}

// perform lets workers run an effect until there is a result. It repeats the effect if the
// worker was lost or could not store the result, after waits that grow from 1 s to 30 s. It
// returns an error only if the turn no longer belongs to this workflow.
func (p *player) perform(ctx workflow.Context, w work, key effect.Key) (result, error) {
	const longest = 30 * time.Second
	for wait := time.Second; ; wait = min(2*wait, longest) {
		queue := ""
		if w.Effect.Tool != nil {
			queue, w.Lost = p.home.Queue, p.home.Lost
		}
		at, done := p.home.enter(ctx, queue)
		r, err := p.performAt(at, queue, takingPatience(queue), w)
		done()
		if isTimeout(err) && ctx.Err() == nil {
			r, err = p.rejoin(ctx, queue, w, err)
		}
		if err == nil || isOfKind(err, refusedKind) {
			return r, err
		}
		isBegun := !isUnsent(err)
		if ctx.Err() != nil {
			return p.cancelled(w, isBegun), nil //nolint:nilerr // the result says so
		}
		if isEnded(err) {
			p.home.lose(queue)
		}
		if isBegun {
			w.Try++
			p.tries[key] = w.Try
			p.recordLost(w, key)
		}
		if errors.As(err, new(gone)) { // another worker makes it at once
			continue
		}
		if workflow.Sleep(ctx, wait) != nil {
			return p.cancelled(w, isBegun), nil //nolint:nilerr // the result says so
		}
	}
}

// performAt lets a worker run an effect once. The worker of queue must take the effect within the
// given number of heartbeats. If queue is "", any worker may take the effect at any time.
func (p *player) performAt(ctx workflow.Context, queue string, heartbeats int, w work) (result, error) {
	heartbeat := p.in.Settings.Heartbeat
	return resultOf(ctx, p.executeAt(ctx, queue, time.Duration(heartbeats)*heartbeat, heartbeat, w))
}

// executeAt schedules an effect for the worker of queue, or for any worker if queue is "". A
// worker of queue must take it within start. A worker that took it may be silent for the time
// silence.
func (p *player) executeAt(ctx workflow.Context, queue string, start, silence time.Duration, w work) workflow.Future {
	o := workflow.ActivityOptions{
		StartToCloseTimeout: p.in.Settings.EffectLimit, HeartbeatTimeout: silence,
		WaitForCancellation: true, RetryPolicy: &temporal.RetryPolicy{MaximumAttempts: 1},
	}
	if queue != "" {
		o.TaskQueue, o.ScheduleToStartTimeout = queue, start
	}
	return workflow.ExecuteActivity(workflow.WithActivityOptions(ctx, o), performName, sentOf(w))
}

// resultOf waits for the result of an effect.
func resultOf(ctx workflow.Context, told workflow.Future) (r result, err error) {
	if err = told.Get(ctx, &r); err == nil {
		err = r.check()
	}
	return r, err
}

// rejoin asks a worker for the result of an effect after a timeout, which is the argument lost. The
// server may have been away, the worker may be slow or frozen, or the server's message to the worker
// may be lost. Without a result rejoin returns the error lost, which is gone if the worker is. It
// returns an error of unsentKind instead if the worker lives and has not begun the effect, or if no
// worker has announced that it would begin the effect.
func (p *player) rejoin(ctx workflow.Context, queue string, w work, lost error) (result, error) {
	at := cmp.Or(queue, workerOf(lost))
	w.Joins = true
	var r result
	var err error
	if isSigned(at) {
		r, err = p.watches.join(ctx, p, at, w)
	} else {
		r, err = p.performAt(ctx, at, 1, w)
	}
	switch {
	case err == nil:
		return r, nil
	case errors.As(err, new(gone)):
		p.home.lose(at)
		return r, gone{lost}
	case at != "" && isUnstarted(err):
		p.home.lose(at)
	case isOfKind(err, unsentKind) && (at != "" || isUnstarted(lost) || isSilent(lost)):
		// The worker lives and has not begun the effect.
		return r, err
	case isUnannounced(lost) && workflow.GetVersion(ctx, unannouncedIsUnsent, workflow.DefaultVersion, 1) == 1:
		return r, unsent(lost)
	}
	return r, lost
}

// unannouncedIsUnsent is the change by which an effect that nobody has announced does not count as lost.
const unannouncedIsUnsent = "unannounced-is-unsent"

// isUnannounced reports whether a silent worker had not announced that it would begin the effect.
func isUnannounced(err error) bool {
	var timeout *temporal.TimeoutError
	return isSilent(err) && errors.As(err, &timeout) && !timeout.HasLastHeartbeatDetails()
}

// workerOf returns the queue of the worker that sent the last heartbeat, or "" if none did.
func workerOf(err error) (queue string) {
	var timeout *temporal.TimeoutError
	if errors.As(err, &timeout) && timeout.HasLastHeartbeatDetails() {
		_ = timeout.LastHeartbeatDetails(&queue) // details of another form name no worker
	}
	return queue
}

func isTimeout(err error) bool {
	var timeout *temporal.TimeoutError
	return errors.As(err, &timeout)
}

// isUnstarted reports whether an activity timed out before a worker took it.
func isUnstarted(err error) bool {
	var timeout *temporal.TimeoutError
	return errors.As(err, &timeout) && timeout.TimeoutType() == enums.TIMEOUT_TYPE_SCHEDULE_TO_START
}

// isSilent reports whether a worker sent no heartbeat for too long.
func isSilent(err error) bool {
	var timeout *temporal.TimeoutError
	return errors.As(err, &timeout) && timeout.TimeoutType() == enums.TIMEOUT_TYPE_HEARTBEAT
}

// isUnsent reports whether no worker has begun the effect.
func isUnsent(err error) bool {
	return isUnstarted(err) || temporal.IsCanceledError(err) || isOfKind(err, unsentKind)
}

// isEnded reports whether the effect ended because its worker shut down.
func isEnded(err error) bool { return isOfKind(err, endedKind) }

func isOfKind(err error, kind string) bool {
	var failed *temporal.ApplicationError
	return errors.As(err, &failed) && failed.Type() == kind
}

// recordLost records that a model call is lost with the worker that had begun the call. It does
// nothing for other effects.
func (p *player) recordLost(w work, key effect.Key) {
	if w.Effect.Model == nil {
		return
	}
	callLost(p.root, w.Session, p.driver.Machine().Turn(), key)
	p.giveUp(key, lostWord)
	p.happened(happening{event: func(at kernel.Time) turn.Event { return turn.Lost{At: at, Key: key} }})
}

// cancelled returns the result of a cancelled effect if no worker reports a result. isBegun says
// that a worker may have begun the effect.
func (p *player) cancelled(w work, isBegun bool) result {
	message := "it was not begun"
	if isBegun {
		message = "its worker was lost when it was cancelled"
	}
	if w.Effect.Tool != nil {
		return result{Tool: &effect.ToolReply{Index: w.Effect.Tool.Key.Index, Error: true, State: effect.ToolCancelled}}
	}
	return result{Model: &effect.ModelReply{Failure: &effect.Failure{
		Kind: string(backends.KindCancelled), Message: message, Unsent: !isBegun,
	}}}
}
