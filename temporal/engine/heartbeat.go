package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
)

// atWork sends heartbeats to the server until stop is called, and so learns of a cancellation.
// The context that it returns also ends with the worker. Temporal's client alone would end it
// only after waiting for the server.
func atWork(ctx context.Context) (working context.Context, stop func()) {
	working, cut := context.WithCancelCause(ctx)
	every := mostCancelDelay
	if info := activity.GetInfo(ctx); !info.IsLocalActivity { // a local one has none
		every = min(every, info.HeartbeatTimeout/4)
	}
	ticker := time.NewTicker(every)
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		told := activity.GetWorkerStopChannel(ctx)
		var graceOver <-chan time.Time
		for {
			select {
			case <-done:
				return
			case <-working.Done():
				return
			case <-ticker.C:
				activity.RecordHeartbeat(ctx)
			case <-told:
				told, graceOver = nil, time.After(endGrace)
			case <-graceOver:
				cut(errEnds)
			}
		}
	}()
	return working, func() {
		ticker.Stop()
		close(done)
		<-ended
		cut(nil)
	}
}

// announce tells the server which worker is about to begin an effect. If the server knows of no
// worker, no worker has begun it.
func (h *activities) announce(ctx context.Context) error {
	info := activity.GetInfo(ctx)
	ctx, cancel := context.WithTimeout(ctx, info.HeartbeatTimeout/2)
	defer cancel()
	if err := h.server.Heartbeat(ctx, info.TaskToken, h.home); err != nil {
		return fmt.Errorf("announce an effect: %w", err)
	}
	return nil
}

// wait waits for a call, and sends heartbeats with this worker's queue meanwhile, the first at
// once if isDue is true. It cuts the call if the server says so. While the server is away, or
// after it has forgotten the activity, the call goes on.
func (h *activities) wait(ctx context.Context, under *call, isDue bool) (result, error) {
	info := activity.GetInfo(ctx)
	every := min(mostCancelDelay, info.HeartbeatTimeout/4)
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		if isDue {
			if err := h.beat(ctx, under, info, every); err != nil {
				return result{}, err
			}
		}
		select {
		case <-under.done:
			return under.result, under.err
		case <-ticker.C:
			isDue = true
		case <-ctx.Done(): // the effect's time is over, or the server has cancelled the activity otherwise
			under.cancel(context.Cause(ctx))
			<-under.done
			return under.result, under.err
		}
	}
}

// beat sends one heartbeat. It returns an error if the server has forgotten the activity. It
// cuts the call if nobody needs its result.
func (h *activities) beat(ctx context.Context, under *call, info activity.Info, most time.Duration) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), most)
	defer cancel()
	err := h.server.Heartbeat(ctx, info.TaskToken, h.home)
	var cancelled *temporal.CanceledError
	switch {
	case errors.As(err, &cancelled):
		under.cancel(err)
	case isMissing(err):
		if h.server.IsOver(ctx, info.WorkflowExecution.ID, info.WorkflowExecution.RunID) {
			under.cancel(errors.New("the workflow is over"))
		}
		return fmt.Errorf("the server has forgotten the activity: %w", err)
	}
	return nil
}

// server has the requests that a worker sends to the Temporal server beside its tasks.
type server interface {
	// Heartbeat reports that an activity is under way, and on which queue. The error is a
	// *temporal.CanceledError if the activity was cancelled, and a *serviceerror.NotFound if
	// the server does not know it.
	Heartbeat(ctx context.Context, token []byte, queue string) error
	// IsOver reports whether a workflow is known to be over.
	IsOver(ctx context.Context, workflow, run string) bool
}

// workflows sends requests to workflows.
type workflows interface {
	// Update sends an update to a workflow, which applies it once for each id.
	Update(ctx context.Context, workflow, run, id, name string, arg, answer any) error
	// Query queries a workflow, without a trace in its history.
	Query(ctx context.Context, workflow, run, name string, arg, answer any) error
	// Signal sends a signal to the current run of a workflow.
	Signal(ctx context.Context, workflow, name string, arg any) error
}

// temporalServer is a server behind a client.
type temporalServer struct {
	client   client.Client
	observer *observer
}

// Heartbeat implements server.
func (s temporalServer) Heartbeat(ctx context.Context, token []byte, queue string) error {
	return s.client.RecordActivityHeartbeat(ctx, token, queue)
}

// IsOver implements server.
func (s temporalServer) IsOver(ctx context.Context, workflow, run string) bool {
	found, err := s.client.DescribeWorkflowExecution(ctx, workflow, run)
	if err != nil || found.WorkflowExecutionInfo.Status == enums.WORKFLOW_EXECUTION_STATUS_RUNNING {
		return false
	}
	s.observer.workflowEnded(workflow, run, found.WorkflowExecutionInfo.Status)
	return true
}

// Update implements workflows.
func (s temporalServer) Update(ctx context.Context, workflow, run, id, name string, arg, answer any) error {
	handle, err := s.client.UpdateWorkflow(ctx, client.UpdateWorkflowOptions{
		WorkflowID: workflow, RunID: run, UpdateID: id, UpdateName: name, Args: []any{arg}, WaitForStage: client.WorkflowUpdateStageCompleted,
	})
	if err != nil {
		return err
	}
	return handle.Get(ctx, answer)
}

// Query implements workflows.
func (s temporalServer) Query(ctx context.Context, workflow, run, name string, arg, answer any) error {
	value, err := s.client.QueryWorkflow(ctx, workflow, run, name, arg)
	if err != nil {
		return err
	}
	return value.Get(answer)
}

// Signal implements workflows.
func (s temporalServer) Signal(ctx context.Context, workflow, name string, arg any) error {
	return s.client.SignalWorkflow(ctx, workflow, "", name, arg)
}
