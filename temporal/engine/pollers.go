package engine

import (
	"context"
	"fmt"
	"slices"
	"time"

	deployment "go.temporal.io/api/deployment/v1"
	enums "go.temporal.io/api/enums/v1"
	taskqueue "go.temporal.io/api/taskqueue/v1"
	"go.temporal.io/api/workflowservice/v1"

	"github.com/massgen/massgen/coordinator"
	"github.com/massgen/massgen/internal/system/sleep"
)

// workerPatience is how long a turn waits for a first worker before it is refused.
const workerPatience = 15 * time.Second

// pollTime is the longest time between two polls of a worker.
const pollTime = time.Minute

// isLive reports whether a worker has polled recently. A worker that has ended stays in the
// list for some minutes.
func isLive(p *taskqueue.PollerInfo) bool {
	return time.Since(p.GetLastAccessTime().AsTime()) < pollTime+workerPatience
}

// findWorker returns when a worker listens for turns of a config, with the queue to ask and the form
// of its turns, or returns an error if none does. Of several forms it returns the newest.
func (e *Engine) findWorker(ctx context.Context, config string) (queue string, of form, err error) {
	const pause = 200 * time.Millisecond
	whole := e.queueOf(config)
	for until := time.Now().Add(workerPatience); ; {
		var list []*taskqueue.PollerInfo
		for _, may := range []struct {
			queue string
			form  form
		}{{byTexts(whole), turnsByTexts}, {whole, wholeTurns}} {
			workers, err := e.pollers(ctx, may.queue, enums.TASK_QUEUE_TYPE_WORKFLOW)
			if err != nil {
				return "", 0, fmt.Errorf("ask Temporal at %s for workers: %w", e.address, err)
			}
			if slices.ContainsFunc(workers.list, workers.takesNew) {
				return may.queue, may.form, nil
			}
			list = append(list, workers.list...)
		}
		if time.Now().After(until) && len(list) > 0 {
			return "", 0, noWorker{e.noCurrentBuild(list)}
		}
		if time.Now().After(until) {
			return "", 0, noWorker{e.whyNoWorker(ctx, config)}
		}
		if err := sleep.For(ctx, pause); err != nil {
			return "", 0, err
		}
	}
}

// noWorker is the reason why no worker plays a turn.
type noWorker struct{ error }

// Is implements errors.Is with the error that callers know.
func (noWorker) Is(target error) bool { return target == coordinator.ErrNoWorker }

// whyNoWorker returns the reason why no worker plays a turn.
func (e *Engine) whyNoWorker(ctx context.Context, config string) error {
	workers, err := e.pollers(ctx, e.commonQueueOf(config), enums.TASK_QUEUE_TYPE_WORKFLOW)
	if foreign := e.foreignWorkers(workers.list); err == nil && foreign != nil {
		return foreign
	}
	if others, err := e.isListened(ctx, e.queue, enums.TASK_QUEUE_TYPE_ACTIVITY); err == nil && others {
		return fmt.Errorf("the workers of the queue %s of Temporal at %s have another config: give them and this program the same, or use a queue for each (--temporal-queue)", e.queue, e.address)
	}
	return fmt.Errorf("no worker listens to the queue %s of Temporal at %s: start one with massgen-temporal worker and the same config", e.queue, e.address)
}

// noCurrentBuild is the refusal of a turn that would wait, since only builds that take no new turns listen.
func (e *Engine) noCurrentBuild(workers []*taskqueue.PollerInfo) error {
	var name, build string
	for _, w := range workers {
		if o := w.GetDeploymentOptions(); buildOf(o).id != "" {
			name, build = o.GetDeploymentName(), o.GetBuildId()
		}
	}
	return fmt.Errorf("the workers of the queue %s of Temporal at %s take no new turns, since another build is the current version of their deployment, or none is: run temporal worker deployment set-current-version --deployment-name %s --build-id %s", e.queue, e.address, name, build)
}

// isListened reports whether a worker listens to a queue.
func (e *Engine) isListened(ctx context.Context, name string, kind enums.TaskQueueType) (bool, error) {
	found, err := e.pollers(ctx, name, kind)
	return len(found.list) > 0, err
}

// pollers returns the workers that listen to a queue.
func (e *Engine) pollers(ctx context.Context, name string, kind enums.TaskQueueType) (found pollers, err error) {
	queue, err := untilAnswered(ctx, func() (*workflowservice.DescribeTaskQueueResponse, error) {
		return e.client.DescribeTaskQueue(ctx, name, kind)
	})
	for _, p := range queue.GetPollers() {
		if isLive(p) {
			found.list = append(found.list, p)
		}
	}
	routing := queue.GetVersioningInfo()
	found.current = buildOf(routing.GetCurrentDeploymentVersion())
	found.ramping = found.current
	if routing.GetRampingVersionPercentage() > 0 {
		found.ramping = buildOf(routing.GetRampingDeploymentVersion())
	}
	return found, err
}

// pollers are the workers that listen to a queue, and the builds that get its new turns: some of them go to
// the ramping one.
type pollers struct {
	list             []*taskqueue.PollerInfo
	current, ramping build
}

// build is a version of a Worker Deployment. It is empty for workers without Worker Versioning.
type build struct{ deployment, id string }

func buildOf(v interface {
	GetDeploymentName() string
	GetBuildId() string
}) build {
	if o, ok := v.(*deployment.WorkerDeploymentOptions); ok && o.GetWorkerVersioningMode() != enums.WORKER_VERSIONING_MODE_VERSIONED {
		return build{}
	}
	return build{v.GetDeploymentName(), v.GetBuildId()}
}

// takesNew reports whether new turns may go to a worker.
func (p pollers) takesNew(w *taskqueue.PollerInfo) bool {
	b := buildOf(w.GetDeploymentOptions())
	return b == p.current || b == p.ramping
}
