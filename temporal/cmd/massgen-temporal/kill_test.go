package main

import (
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	enums "go.temporal.io/api/enums/v1"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"

	"github.com/massgen/massgen/coordinator/report"
	"github.com/massgen/massgen/tests/backendtest"
)

// inMidTurn begins a turn of three agents, who wait for each other however long that takes. It
// returns when two of them have answered, and
// the call of agent3 is under way.
func (w *world) inMidTurn(workers ...string) (s *service, client *process, working []*process, config string) {
	w.t.Helper()
	s = newService(w.t, agreeable)
	s.held = func(c backendtest.Call) bool { return c.Model() == "agent3" && isBlind(c) }
	config = w.config(s.agents(3)...)
	for _, folder := range workers {
		working = append(working, w.worker(folder, config))
	}
	client = w.ask(config, "energy?")
	store := w.store()
	w.until("two agents have answered, and the third is asked", func() bool { return replies(w.t, store, 1) == 2 && s.holds() == 1 })
	return s, client, working, config
}

// checkUnrepeated checks that the turn has ended, that no call with a result was repeated, and that the
// result reports the repeated calls.
func (w *world) checkUnrepeated(s *service, r report.Result, repeated int) {
	w.t.Helper()
	if r.Status != "completed" || r.Winner != "agent2" || r.Rounds != 2 {
		w.t.Errorf("%s, %s has won after %d rounds", r.Status, r.Winner, r.Rounds)
	}
	requests := 0
	for body, n := range s.asked() {
		requests += n
		if n > 1 && !(n == 1+repeated && strings.Contains(body, `"model":"agent3"`)) {
			w.t.Errorf("%d times: %.300s", n, body)
		}
	}
	if requests != 6+repeated || r.RepeatedCalls != repeated || r.Usage.Calls != requests || r.Usage.UnknownCalls != repeated {
		w.t.Errorf("%d requests, of which %d were made again; usage %+v", requests, r.RepeatedCalls, r.Usage)
	}
}

// mostLoss is how long a turn may stand still after its worker was killed, on a busy machine.
const mostLoss = 30 * time.Second

// TestTheOnlyWorkerIsKilled while a new one starts: the turn goes on soon.
func TestTheOnlyWorkerIsKilled(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.settings.Heartbeat = 0 // the program's own
	s, client, working, config := w.inMidTurn("worker")
	w.start("another", w.working(config)...)
	working[0].kill()
	killed := time.Now()
	w.until("the call is made again", func() bool { return s.holds() == 2 })
	passed := time.Since(killed)
	s.free()
	w.checkUnrepeated(s, w.result(client), 1)
	w.checkHistories("worker lost")
	if t.Logf("the turn goes on after %v", passed); passed > mostLoss {
		t.Errorf("the turn goes on after %v, not within %v", passed, mostLoss)
	}
}

// TestOneOfTwoWorkersIsKilled: the one that has the call of agent3 under way, so that the
// other makes it again, or the other, so that nobody does.
func TestOneOfTwoWorkersIsKilled(t *testing.T) {
	t.Parallel()
	w := newLosingWorld(t)
	for name, repeated := range map[string]int{"the caller": 1, "the other": 0} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := w.of(t)
			s, client, working, _ := w.inMidTurn("worker1", "worker2")
			caller := w.caller()
			for _, worker := range working {
				if (worker.Process.Pid == caller) == (repeated == 1) {
					worker.kill()
				}
			}
			s.free()
			w.checkUnrepeated(s, w.result(client), repeated)
		})
	}
}

// caller is the process of the worker that has a call under way.
func (w *world) caller() (pid int) {
	w.t.Helper()
	c := w.dial()
	var found *workflowservice.DescribeWorkflowExecutionResponse
	w.answered("who has the call", func() (err error) {
		found, err = c.DescribeWorkflowExecution(w.t.Context(), w.workflow(), "")
		return err
	})
	calls := slices.DeleteFunc(found.PendingActivities, func(a *workflowpb.PendingActivityInfo) bool {
		return a.ActivityType.Name != "massgen.perform" // what came before it may still be written
	})
	if len(calls) != 1 {
		w.t.Fatalf("under way are %v", found.PendingActivities)
	}
	identity, _, _ := strings.Cut(calls[0].LastWorkerIdentity, "@")
	pid, err := strconv.Atoi(identity)
	ok(w.t, err)
	return pid
}

// TestTheClientIsKilled: the turn ends, and another client gets the result.
func TestTheClientIsKilled(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s, client, _, config := w.inMidTurn("worker")
	w.until("the client follows", func() bool { return w.followers() == 1 })
	client.kill()
	again := w.start("client", "--config", config, "--temporal-address", w.address, "--temporal-queue", w.queue(),
		"--session-id", "s", "--continue", "--json", "--automation")
	w.until("the other client follows", func() bool { return w.followers() == 2 })
	s.free()
	w.checkUnrepeated(s, w.result(again), 0)
}

// followers counts the clients that have asked whether the turn has begun.
func (w *world) followers() (n int) {
	w.t.Helper()
	for _, ev := range w.histories()[0].Events {
		if ev.GetWorkflowExecutionUpdateCompletedEventAttributes() != nil {
			n++
		}
	}
	return n
}

// TestInterruptEndsTheTurn with the best so far, and closes the connection of the call
// that is under way.
func TestInterruptEndsTheTurn(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := newService(t, func(c backendtest.Call) backendtest.Reply {
		if c.Model() == "agent3" {
			return backendtest.Reply{Fault: backendtest.HangBefore}
		}
		return agreeable(c)
	})
	config := w.config(s.agents(3)...)
	w.worker("worker", config)
	client := w.ask(config, "energy?")
	store := w.store()
	w.until("two agents have answered, and the third is asked", func() bool { return replies(t, store, 1) == 2 && s.Open() == 1 })
	ok(t, client.Process.Signal(os.Interrupt))
	r := w.result(client)
	if r.Status != "interrupted" || r.Answer == "" || client.ProcessState.ExitCode() != 4 {
		t.Errorf("exit status %d, %s, %q", client.ProcessState.ExitCode(), r.Status, r.Answer)
	}
	w.until("the service sees that the connection is closed", func() bool { return s.Open() == 0 })
}

// TestASecondTurnIsRefused while one is played.
func TestASecondTurnIsRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s, client, _, config := w.inMidTurn("worker")
	second := w.ask(config, "more?")
	<-second.ended
	if second.ProcessState.ExitCode() == 0 || !strings.Contains(second.stderr.String(), "a turn is running on this session") {
		t.Errorf("exit status %d: %s", second.ProcessState.ExitCode(), second.stderr.String())
	}
	s.free()
	w.checkUnrepeated(s, w.result(client), 0)
}

// TestBudgetHoldsOverWorkers: of calls that run on two workers, no more are sent than the
// turn may have.
func TestBudgetHoldsOverWorkers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := newService(t, restless())
	config := w.config(s.agents(6, "budget: {max_calls: 8}")...)
	w.worker("worker1", config)
	w.worker("worker2", config)
	r := w.result(w.ask(config, "energy?"))
	if r.Status != "budget" || r.Budget == nil || r.Budget.SpentCalls != 8 || len(s.Calls()) != 8 {
		t.Errorf("%s after %d requests, budget %+v", r.Status, len(s.Calls()), r.Budget)
	}
}

// TestNoWorker: a turn that nobody would play is refused.
func TestNoWorker(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	client := w.ask(w.config(newService(t, agreeable).agents(3)...), "energy?")
	<-client.ended
	if client.ProcessState.ExitCode() == 0 || !strings.Contains(client.stderr.String(), "start one with massgen-temporal worker") {
		t.Errorf("exit status %d: %s", client.ProcessState.ExitCode(), client.stderr.String())
	}
}

// TestTermsAreThoseOfWhoAsks: the limits that a client is given hold at the workers, and
// workers with another config do not play for it. They log what they do.
func TestTermsAreThoseOfWhoAsks(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := newService(t, restless())
	config := w.config(s.agents(3)...)
	worker := w.worker("worker", config)
	r := w.result(w.ask(config, "energy?", "--max-calls", "4"))
	if r.Status != "budget" || r.Budget == nil || r.Budget.SpentCalls != 4 || len(s.Calls()) != 4 {
		t.Errorf("%s after %d requests, budget %+v", r.Status, len(s.Calls()), r.Budget)
	}
	other := w.ask(w.config(s.agents(2)...), "and then?")
	<-other.ended
	if said := other.stderr.String(); other.ProcessState.ExitCode() == 0 || !strings.Contains(said, "have another config: give them and this program the same") {
		t.Errorf("exit status %d: %s", other.ProcessState.ExitCode(), said)
	}
	worker.kill()
	for _, line := range []string{`level=INFO msg="Started Worker"`, `level=INFO msg="a turn has begun"`, `session=s turn=1`, `level=INFO msg="a turn is over"`} {
		if !strings.Contains(worker.stderr.String(), line) {
			t.Errorf("the worker's log has no %s:\n%s", line, worker.stderr.String())
		}
	}
}

// TestInterruptBeforeATurnBegins ends a client whose only worker was killed a moment ago, so
// that the server still believes in it.
func TestInterruptBeforeATurnBegins(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	config := w.config(newService(t, agreeable).agents(3)...)
	worker := w.worker("worker", config)
	first := w.result(w.ask(config, "energy?"))
	if first.Status != "completed" {
		t.Fatal(first.Status)
	}
	worker.kill()
	client := w.ask(config, "and then?")
	c := w.dial()
	w.until("the turn is asked for", func() bool {
		found, err := c.DescribeWorkflowExecution(t.Context(), w.workflow(), "")
		return err == nil && found.WorkflowExecutionInfo.Status == enums.WORKFLOW_EXECUTION_STATUS_RUNNING
	})
	ok(t, client.Process.Signal(os.Interrupt))
	<-client.ended
	if client.ProcessState.ExitCode() != 4 {
		t.Errorf("exit status %d: %s", client.ProcessState.ExitCode(), client.stderr.String())
	}
}

// TestNobodyBeginsATurn: the only worker was killed, and Temporal lists it for a while. The client is refused, and the
// session is free.
func TestNobodyBeginsATurn(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := newService(t, agreeable)
	config := w.config(s.agents(3)...)
	worker := w.worker("worker", config)
	check := func(calls int) {
		t.Helper()
		if r := w.result(w.ask(config, "energy?")); r.Status != "completed" || len(s.Calls()) != calls {
			t.Errorf("%s, after %d calls", r.Status, len(s.Calls()))
		}
	}
	check(6)
	worker.kill()
	client := w.ask(config, "energy?")
	<-client.ended
	if status := client.ProcessState.ExitCode(); status != 2 || !strings.Contains(client.stderr.String(), "no worker listens") || len(s.Calls()) > 6 {
		t.Errorf("exit status %d after %d calls: %s", status, len(s.Calls()), client.stderr.String())
	}
	w.worker("another", config)
	check(12)
}
