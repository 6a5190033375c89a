package engine

import (
	"context"
	"sync"
	"time"

	enums "go.temporal.io/api/enums/v1"

	"github.com/massgen/massgen/internal/system/sleep"
)

// workersEvery is how often a client looks whether the turn that it follows still has workers.
const workersEvery = time.Minute

// watchWorkers tells the observer, until ctx is done, when no worker listens for this turn any more, and when one does
// again. A turn goes on with the config that it began with, so it waits if all workers have another.
func (r *remote) watchWorkers(ctx context.Context) {
	isStranded := false
	defer func() {
		if isStranded {
			r.engine.observer.stranded(r, false)
		}
	}()
	for sleep.For(ctx, workersEvery) == nil {
		workers, err := r.engine.pollers(ctx, r.queue, enums.TASK_QUEUE_TYPE_WORKFLOW)
		if none := len(workers.list) == 0; err == nil && none != isStranded {
			isStranded = none
			r.engine.observer.stranded(r, none)
		}
	}
}

// awaitWorker waits until a new turn has begun, and sets its number. It gives up when no worker listens any more: Temporal
// names a worker for a while after it has ended, so the turn may have been started for nobody.
func (e *Engine) awaitWorker(ctx context.Context, config string, in request, p *remote) error {
	waiting, stop := context.WithCancel(ctx)
	var watch sync.WaitGroup
	var nobody error
	watch.Go(func() {
		for sleep.For(waiting, workerPatience) == nil {
			workers, err := e.pollers(waiting, p.queue, enums.TASK_QUEUE_TYPE_WORKFLOW)
			if err != nil || len(workers.list) > 0 {
				continue
			}
			why := noWorker{e.whyNoWorker(waiting, config)}
			if e.discard(waiting, in) {
				nobody = why
				stop()
			}
		}
	})
	err := e.await(waiting, p)
	stop()
	watch.Wait()
	if nobody != nil {
		return nobody
	}
	return err
}

// discard terminates a turn that waits for a worker and was not begun, so that its session is free. It returns whether
// it did: if not, because a worker has taken the turn up or the server is away, the caller tries again.
func (e *Engine) discard(ctx context.Context, in request) bool {
	ctx, cancel := context.WithTimeout(ctx, startTry)
	defer cancel()
	known, err := e.find(ctx, in)
	return err == nil && known.isOwn && known.isWaiting &&
		e.client.TerminateWorkflow(ctx, known.run.GetID(), known.run.GetRunID(), "no worker listens for it") == nil
}
