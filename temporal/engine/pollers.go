package engine

import (
	"context"
	"fmt"
	"time"

	enums "go.temporal.io/api/enums/v1"
	taskqueue "go.temporal.io/api/taskqueue/v1"
	"go.temporal.io/api/workflowservice/v1"

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
		for _, may := range []struct {
			queue string
			form  form
		}{{byTexts(whole), turnsByTexts}, {whole, wholeTurns}} {
			isThere, err := e.isListened(ctx, may.queue, enums.TASK_QUEUE_TYPE_WORKFLOW)
			if err != nil {
				return "", 0, fmt.Errorf("ask Temporal at %s for workers: %w", e.address, err)
			}
			if isThere {
				return may.queue, may.form, nil
			}
		}
		if time.Now().After(until) {
			return "", 0, e.noWorker(ctx, config)
		}
		if err := sleep.For(ctx, pause); err != nil {
			return "", 0, err
		}
	}
}

// noWorker returns the reason why no worker plays a turn.
func (e *Engine) noWorker(ctx context.Context, config string) error {
	workers, err := e.pollers(ctx, e.commonQueueOf(config), enums.TASK_QUEUE_TYPE_WORKFLOW)
	if foreign := e.foreignWorkers(workers); err == nil && foreign != nil {
		return foreign
	}
	if others, err := e.isListened(ctx, e.queue, enums.TASK_QUEUE_TYPE_ACTIVITY); err == nil && others {
		return fmt.Errorf("the workers of the queue %s of Temporal at %s have another config: give them and this program the same, or use a queue for each (--temporal-queue)", e.queue, e.address)
	}
	return fmt.Errorf("no worker listens to the queue %s of Temporal at %s: start one with massgen-temporal worker and the same config", e.queue, e.address)
}

// isListened reports whether a worker listens to a queue.
func (e *Engine) isListened(ctx context.Context, name string, kind enums.TaskQueueType) (bool, error) {
	list, err := e.pollers(ctx, name, kind)
	return len(list) > 0, err
}

// pollers returns the workers that listen to a queue.
func (e *Engine) pollers(ctx context.Context, name string, kind enums.TaskQueueType) (list []*taskqueue.PollerInfo, err error) {
	queue, err := untilAnswered(ctx, func() (*workflowservice.DescribeTaskQueueResponse, error) {
		return e.client.DescribeTaskQueue(ctx, name, kind)
	})
	for _, p := range queue.GetPollers() {
		if isLive(p) {
			list = append(list, p)
		}
	}
	return list, err
}
