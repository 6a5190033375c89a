package engine

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	commonpb "go.temporal.io/api/common/v1"
	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	taskqueue "go.temporal.io/api/taskqueue/v1"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/massgen/massgen/internal/system/metrics"
)

// forsaken is a server whose only worker has polled last at the time polled. It starts a turn, and nobody begins it.
type forsaken struct {
	client.Client
	polled     atomic.Int64 // in milliseconds
	terminated []string
	// isTaken reports whether a worker has taken the turn up, and works at it.
	isTaken bool
}

// poll has the worker poll now.
func (f *forsaken) poll() { f.polled.Store(time.Now().UnixMilli()) }

func (f *forsaken) DescribeTaskQueue(context.Context, string, enums.TaskQueueType) (*workflowservice.DescribeTaskQueueResponse, error) {
	return &workflowservice.DescribeTaskQueueResponse{Pollers: []*taskqueue.PollerInfo{{LastAccessTime: timestamppb.New(time.UnixMilli(f.polled.Load()))}}}, nil
}

func (f *forsaken) UpdateWorkflow(ctx context.Context, _ client.UpdateWorkflowOptions) (client.WorkflowUpdateHandle, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

func (f *forsaken) DescribeWorkflowExecution(context.Context, string, string) (*workflowservice.DescribeWorkflowExecutionResponse, error) {
	state := enums.PENDING_WORKFLOW_TASK_STATE_SCHEDULED
	if f.isTaken {
		state = enums.PENDING_WORKFLOW_TASK_STATE_STARTED
	}
	owner, err := converter.GetDefaultDataConverter().ToPayload("me")
	return &workflowservice.DescribeWorkflowExecutionResponse{WorkflowExecutionInfo: &workflowpb.WorkflowExecutionInfo{
		Execution: &commonpb.WorkflowExecution{RunId: "run"}, Memo: &commonpb.Memo{Fields: map[string]*commonpb.Payload{ownerMemo: owner}},
	}, PendingWorkflowTask: &workflowpb.PendingWorkflowTaskInfo{State: state}}, err
}

func (f *forsaken) GetWorkflow(_ context.Context, id, run string) client.WorkflowRun {
	return runOf{id: id, run: run}
}

func (f *forsaken) TerminateWorkflow(_ context.Context, id, run, _ string, _ ...any) error {
	f.terminated = append(f.terminated, id+" "+run)
	return nil
}

// runOf names a run.
type runOf struct {
	client.WorkflowRun
	id, run string
}

func (r runOf) GetID() string    { return r.id }
func (r runOf) GetRunID() string { return r.run }

// lines are what was logged. It is safe for concurrent use.
type lines struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *lines) Write(data []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(data)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// TestTurnThatNobodyBegins is refused once its worker is known to have ended, and leaves its session free.
func TestTurnThatNobodyBegins(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := &forsaken{}
		server.poll()
		e := &Engine{client: server, queue: "queue"}
		began := time.Now()
		p := &remote{engine: e, run: runOf{id: e.id("s"), run: "run"}, queue: "queue/config/texts"}
		err := e.awaitWorker(t.Context(), "config", request{Session: "s", Owner: "me"}, p)
		if err == nil || !strings.Contains(err.Error(), "no worker listens to the queue") {
			t.Errorf("%v", err)
		}
		if took := time.Since(began); took < pollTime || took > pollTime+2*workerPatience {
			t.Errorf("it took %v", took)
		}
		if len(server.terminated) != 1 || server.terminated[0] != e.id("s")+" run" {
			t.Errorf("ended: %v", server.terminated)
		}
	})
}

// TestTurnThatAWorkerHasTakenUpIsNotEnded, although no worker listens any more.
func TestTurnThatAWorkerHasTakenUpIsNotEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := &forsaken{isTaken: true}
		e := &Engine{client: server, queue: "queue"}
		ctx, cancel := context.WithTimeout(t.Context(), 2*pollTime)
		defer cancel()
		p := &remote{engine: e, run: runOf{id: e.id("s"), run: "run"}, queue: "queue/config/texts"}
		err := e.awaitWorker(ctx, "config", request{Session: "s", Owner: "me"}, p)
		if !errors.Is(err, context.DeadlineExceeded) || len(server.terminated) > 0 {
			t.Errorf("%v; ended: %v", err, server.terminated)
		}
	})
}

// comingBack is a server that is away until a time, and then says that a turn has begun.
type comingBack struct {
	client.Client
	awayUntil time.Time
}

func (c comingBack) UpdateWorkflow(context.Context, client.UpdateWorkflowOptions) (client.WorkflowUpdateHandle, error) {
	if time.Now().Before(c.awayUntil) {
		return nil, serviceerror.NewUnavailable("it is away")
	}
	return third{}, nil
}

// third is the answer that a session's third turn has begun.
type third struct{ client.WorkflowUpdateHandle }

func (third) Get(_ context.Context, number any) error {
	*number.(*int) = 3
	return nil
}

// TestStartOutlivesAServerThatIsAway: the client learns that its turn has begun as soon as the server is back, and not
// only when the turn ends.
func TestStartOutlivesAServerThatIsAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := &Engine{client: comingBack{awayUntil: time.Now().Add(3 * serverPatience)}}
		p := &remote{engine: e, run: runOf{id: "s", run: "run"}}
		if err := e.await(t.Context(), p); err != nil || p.number != 3 {
			t.Errorf("turn %d, %v", p.number, err)
		}
	})
}

// TestStrandedTurnsAreSeen: a turn that waits for a worker with its config has a line and a figure, until there is one.
func TestStrandedTurnsAreSeen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server, figures, log := &forsaken{}, metrics.New(), new(lines)
		server.poll()
		e := &Engine{client: server, queue: "queue", observer: newObserver(slog.New(slog.NewTextHandler(log, nil)), figures)}
		p := &remote{engine: e, run: runOf{id: e.id("s"), run: "run"}, queue: "queue/config/texts", number: 3}
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() {
			defer close(done)
			p.watchWorkers(ctx)
		}()
		check := func(want float64, lines ...string) {
			t.Helper()
			synctest.Wait()
			if n := figures.Value(metrics.TurnsStranded()); n != want {
				t.Errorf("%v stranded turns, not %v", n, want)
			}
			for _, line := range lines {
				if strings.Count(log.String(), line) != 1 {
					t.Errorf("no single %q in\n%s", line, log)
				}
			}
		}
		const alone, over = `level=ERROR msg="a turn waits for a worker: no worker has the config that it began with" session=s turn=3 queue=queue/config/texts`, `level=INFO msg="a turn waits for a worker no longer" session=s turn=3`
		time.Sleep(workersEvery + time.Second)
		check(0)
		time.Sleep(3 * workersEvery)
		check(1, alone)
		server.poll()
		time.Sleep(workersEvery)
		check(0, alone, over)
		time.Sleep(3 * workersEvery)
		check(1)
		cancel()
		<-done
		check(0)
	})
}
