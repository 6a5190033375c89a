package engine

import (
	"context"
	"errors"
	"strings"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/massgen/massgen/internal/system/sleep"
)

// Signs are the signs of life of workers. A sign outlives no process; it is shown while its
// worker is frozen. temporal/postgres has them.
type Signs interface {
	// Show shows the sign of a name until hide is called. It returns when the sign is shown.
	Show(ctx context.Context, name string) (hide func(), err error)
	// IsShown reports whether a process shows the sign of a name.
	IsShown(ctx context.Context, name string) (bool, error)
}

// signedEnd ends the name of the queue of a worker that shows a sign of life under this name.
const signedEnd = "/signed"

// isSigned reports whether the worker of a queue shows a sign of life. Older workers show none.
func isSigned(queue string) bool { return strings.HasSuffix(queue, signedEnd) }

// silencePatience is how many heartbeats a silent worker has whose sign of life is shown: it
// may be frozen, or out of reach. By default they are 90 s.
const silencePatience = 6

// watched is a silent worker, and how long it is watched.
type watched struct {
	Worker string        `json:"worker"`
	Most   time.Duration `json:"most"`
}

// watch returns whether a worker is gone: true as soon as its sign of life is shown no more,
// false after the longest time. A worker that only lost its connection shows it again within a
// second. While the database is away, nobody knows.
func (h *activities) watch(ctx context.Context, w watched) (isGone bool, err error) {
	const pause = time.Second
	ctx, stop := atWork(ctx)
	defer stop()
	missed := 0
	info := activity.GetInfo(ctx)
	left := w.Most - info.StartedTime.Sub(info.ScheduledTime) // by the server's clock
	for end := time.Now().Add(left); time.Now().Before(end); {
		isShown, err := h.signs.IsShown(ctx, w.Worker)
		switch {
		case err != nil:
		case isShown:
			missed = 0
		default:
			missed++
		}
		if missed == 2 {
			return true, nil
		}
		if err := sleep.For(ctx, pause); err != nil {
			return false, err
		}
	}
	return false, nil
}

// watches are the silent workers that a workflow has watched, by their queues. The value tells
// whether the worker is gone.
type watches map[string]workflow.Future

// begin watches the worker of a queue, unless that is watched. The future is whether the worker is
// gone.
func (l watches) begin(p *player, queue string) workflow.Future {
	if there := l[queue]; there != nil && (!there.IsReady() || isGone(p.root, there)) {
		return there
	}
	most := silencePatience * p.in.Settings.Heartbeat
	ctx := workflow.WithActivityOptions(p.root, workflow.ActivityOptions{
		ScheduleToCloseTimeout: most + p.in.Settings.Heartbeat, HeartbeatTimeout: p.in.Settings.Heartbeat,
		RetryPolicy: &temporal.RetryPolicy{InitialInterval: time.Second, BackoffCoefficient: 1},
	})
	l[queue] = workflow.ExecuteActivity(ctx, watchName, watched{queue, most})
	return l[queue]
}

// isGone returns what a watch has found.
func isGone(ctx workflow.Context, watch workflow.Future) (is bool) {
	return watch.Get(ctx, &is) == nil && is
}

// gone is the error of an effect whose worker is gone.
type gone struct{ error }

func (g gone) Unwrap() error { return g.error }

// errSilent is the reason why a worker is watched.
var errSilent = errors.New("its worker is silent")

// join asks a silent worker for the result of an effect, until the worker is gone or was silent
// for too long. The error is gone if the worker is.
func (l watches) join(ctx workflow.Context, p *player, queue string, w work) (r result, err error) {
	joining, leave := workflow.WithCancel(ctx)
	defer leave()
	most := silencePatience * p.in.Settings.Heartbeat
	told, watch := p.executeAt(joining, queue, most, most, w), l.begin(p, queue)
	workflow.NewSelector(ctx).AddFuture(told, func(workflow.Future) {}).AddFuture(watch, func(workflow.Future) {}).Select(ctx)
	if !told.IsReady() && isGone(p.root, watch) {
		return r, gone{errSilent}
	}
	return resultOf(ctx, told)
}
