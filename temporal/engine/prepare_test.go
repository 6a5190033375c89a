package engine

import (
	"context"
	"errors"
	"testing"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/coordinator"
	"github.com/massgen/massgen/internal/coordination/kernel"
	"github.com/massgen/massgen/internal/system/blob"
	"github.com/massgen/massgen/sessions"
)

// away is a store that comes to nothing once a turn is to be written down. It has its worker
// told to end then.
type away struct {
	*sessions.Store
	end   chan struct{} // nil for a store that cannot be reached then
	ended bool
}

func (s *away) Held(context.Context, string) (begun sessions.Begun, held bool, err error) {
	return begun, false, nil
}

func (s *away) AtWork(string) (rest func()) { return func() {} }

func (s *away) AppendAt(ctx context.Context, _ string, _, _ int, _ ...[]byte) error {
	if s.end == nil {
		return sessions.Away(errors.New("no connection"))
	}
	close(s.end)
	<-ctx.Done()
	return ctx.Err()
}

func (s *away) PutAll(context.Context, [][]byte) ([]blob.Ref, error) { return nil, nil }

func (s *away) GetAll(context.Context, []blob.Ref) (map[blob.Ref][]byte, error) { return nil, nil }

func (s *away) KeepResults(context.Context, string, int, map[string][]byte, [][]byte) (map[string][]byte, error) {
	return nil, sessions.Away(errors.New("no connection"))
}

func (s *away) Results(context.Context, string, int, []string) (map[string][]byte, bool, error) {
	return nil, false, nil
}

func (s *away) End(context.Context, string, int, sessions.Ended) error {
	s.ended = true
	return nil
}

// TestATurnIsNotRefusedByAWorkerThatEnds: another one prepares it. A store that is away is asked again.
func TestATurnIsNotRefusedByAWorkerThatEnds(t *testing.T) {
	prepareAway(t, make(chan struct{}), "the turn was not prepared: the worker is told to end")
	prepareAway(t, nil, "the turn was not prepared: no connection")
}

func prepareAway(t *testing.T, end chan struct{}, want string) {
	t.Helper()
	store := &away{Store: sessions.NewMemory(), end: end}
	panel, err := coordinator.New(coordinator.Options{
		Store: store, Agents: []coordinator.Agent{{ID: "a", Backend: struct{ backends.Backend }{}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	var suite testsuite.WorkflowTestSuite
	env := suite.NewTestWorkflowEnvironment()
	env.SetTestTimeout(time.Minute)
	env.SetWorkerStopChannel(store.end)
	env.SetWorkerOptions(worker.Options{DeadlockDetectionTimeout: patience})
	h := &activities{panel: panel, as: func(string) Store { return store }, texts: store}
	env.RegisterActivity(h.prepare)
	once := workflow.ActivityOptions{
		StartToCloseTimeout: time.Hour, HeartbeatTimeout: time.Hour, RetryPolicy: &temporal.RetryPolicy{MaximumAttempts: 1},
	}
	env.ExecuteWorkflow(func(ctx workflow.Context, in request) error {
		return workflow.ExecuteActivity(workflow.WithActivityOptions(ctx, once), h.prepare, in).Get(ctx, nil)
	}, request{Session: "s", Question: []byte("energy?"), Terms: coordinator.TurnOptions{Rules: kernel.Config{Agents: []string{"a"}}}})
	err = env.GetWorkflowError()
	var failed *temporal.ApplicationError
	if !errors.As(err, &failed) || failed.NonRetryable() || failed.Message() != want {
		t.Errorf("the turn is refused: %v", err)
	}
	if store.ended {
		t.Error("the turn is ended in the store")
	}
}

// TestALateWorkerBeginsNoSecondTurn: another has begun the turn and ended it while this worker was frozen.
func TestALateWorkerBeginsNoSecondTurn(t *testing.T) {
	f := newFleet(t)
	began := time.Now()
	f.play()
	var suite testsuite.WorkflowTestSuite
	env := suite.NewTestActivityEnvironment()
	env.RegisterActivity(f.workers[1].prepare)
	owner := "o"
	prepare := func(at time.Time) error {
		_, err := env.ExecuteLocalActivity(f.workers[1].prepare, request{
			Form: turnsByTexts, Session: "s", Owner: owner, Question: []byte("energy?"), Terms: coordinator.TurnOptions{Rules: f.rules}, At: kernel.Time(at.UnixMilli()),
		})
		return err
	}
	check := func(want int) {
		t.Helper()
		turns, err := f.store.Turns(t.Context(), "s", 0)
		f.check(err)
		if len(turns) != want {
			t.Errorf("there are %d turns, not %d", len(turns), want)
		}
	}
	if err := prepare(began.Add(-lateAfter)); !isOfKind(err, refusedKind) {
		t.Errorf("a turn that was played: %v", err)
	}
	check(1)
	f.check(prepare(time.Now().Add(time.Second))) // a new request with the same question
	check(2)
	f.check(f.store.End(t.Context(), "s", 2, sessions.Ended{Status: kernel.AllFailed}))
	f.workers[1].as, owner = func(string) Store { return older{f.store} }, "another"
	f.check(prepare(began.Add(-lateAfter))) // a late one, whose question earlier turns had
}

// older is a store whose turns began an hour before.
type older struct{ *memory }

func (s older) Turns(ctx context.Context, id string, last int) ([]sessions.Turn, error) {
	list, err := s.memory.Turns(ctx, id, last)
	for i := range list {
		list[i].Started = list[i].Started.Add(-time.Hour)
	}
	return list, err
}

// TestAnEndThatTheStoreLosesIsMadeAgain, although the store has released the session.
func TestAnEndThatTheStoreLosesIsMadeAgain(t *testing.T) {
	f := newFleet(t)
	f.store.losesEnd = true
	f.checkEnd(f.play(), 0)
	if f.store.losesEnd {
		t.Error("no end was lost")
	}
}
