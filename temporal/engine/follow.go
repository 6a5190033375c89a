package engine

import (
	"context"
	"errors"
	"fmt"
	"sync"

	enums "go.temporal.io/api/enums/v1"
	history "go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"github.com/massgen/massgen/sessions"
)

// Wait implements coordinator.RemoteTurn. It follows the history of the workflow by long polls, so a client that
// waits needs no connection to the database. It also waits while the server is away.
func (r *remote) Wait(ctx context.Context, changed func()) error {
	watching, stop := context.WithCancel(ctx)
	var watch sync.WaitGroup
	watch.Go(func() { r.watchWorkers(watching) })
	defer watch.Wait()
	defer stop()
	changed()
	f := &follower{remote: r, run: r.run.GetRunID(), changed: changed}
	_, _ = untilBack(ctx, func() (none struct{}, err error) { // of another error Get says more
		for err == nil && !f.isOver {
			err = f.follow(ctx)
		}
		return none, err
	})
	// Get would read what goes from one run to the next, which may be a text that only workers can read.
	last := r.engine.client.GetWorkflow(ctx, r.run.GetID(), f.run)
	_, err := untilBack(ctx, func() (struct{}, error) {
		return struct{}{}, last.GetWithOptions(ctx, nil, client.WorkflowRunGetOptions{DisableFollowingRuns: true})
	})
	var terminated *temporal.TerminatedError
	if errors.As(err, &terminated) {
		r.engine.observer.workflowEnded(r.run.GetID(), r.run.GetRunID(), enums.WORKFLOW_EXECUTION_STATUS_TERMINATED)
		return errors.New("the turn's workflow was terminated: --continue finishes the turn, when the workers have let go of it")
	}
	var failed *temporal.ApplicationError
	if !errors.As(err, &failed) {
		return err
	}
	switch failed.Type() {
	case busyKind:
		return sessions.ErrBusy
	case forgottenKind:
		return fmt.Errorf("%s: %w", failed.Message(), sessions.ErrNoText)
	}
	return errors.New(failed.Message())
}

// follower reads the histories of a turn's runs, one after the other. One goroutine owns it.
type follower struct {
	remote  *remote
	run     string // the id of the run that it reads, which is the turn's last once isOver
	isOver  bool
	changed func()
	// seen is the last event of the run that it has read. effects are the run's activities that write no journal.
	seen    int64
	effects map[int64]bool
}

// follow reads the history of the run until the run is over, or the server is away. It goes on where it ended
// before.
func (f *follower) follow(ctx context.Context) error {
	workflow, run := f.remote.run.GetID(), f.run
	events := f.remote.engine.client.GetWorkflowHistory(ctx, workflow, run, true, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for events.HasNext() {
		ev, err := events.Next()
		if err != nil {
			return err
		}
		if ev.GetEventId() > f.seen {
			f.seen = ev.GetEventId()
			f.take(ev)
		}
	}
	f.isOver = f.run == run // it has ended, and none goes on from it
	return nil
}

// take reports an event that the journal may have grown with: the end of an activity that is no effect, or of a
// local one.
func (f *follower) take(ev *history.HistoryEvent) {
	switch ev.GetEventType() {
	case enums.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED:
		scheduled := ev.GetActivityTaskScheduledEventAttributes()
		if name := scheduled.GetActivityType().GetName(); name == performName || name == keepName {
			if f.effects == nil {
				f.effects = map[int64]bool{}
			}
			f.effects[ev.GetEventId()] = true
		}
	case enums.EVENT_TYPE_ACTIVITY_TASK_COMPLETED:
		if !f.effects[ev.GetActivityTaskCompletedEventAttributes().GetScheduledEventId()] {
			f.changed()
		}
	case enums.EVENT_TYPE_MARKER_RECORDED:
		f.changed()
	case enums.EVENT_TYPE_WORKFLOW_EXECUTION_CONTINUED_AS_NEW:
		f.run = ev.GetWorkflowExecutionContinuedAsNewEventAttributes().GetNewExecutionRunId()
		f.seen, f.effects = 0, nil
	}
}
