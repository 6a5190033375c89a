package main

import (
	"context"
	"net"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/proxy"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	"github.com/massgen/massgen/tests/backendtest"
)

// through returns the address of a way to the server, on which all requests go by way of
// pass.
func (w *world) through(pass grpc.UnaryServerInterceptor) string {
	w.t.Helper()
	conn, err := grpc.NewClient(w.address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	ok(w.t, err)
	service, err := proxy.NewWorkflowServiceProxyServer(proxy.WorkflowServiceProxyOptions{Client: workflowservice.NewWorkflowServiceClient(conn)})
	ok(w.t, err)
	server := grpc.NewServer(grpc.UnaryInterceptor(pass))
	workflowservice.RegisterWorkflowServiceServer(server, service)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	ok(w.t, err)
	served := make(chan error, 1)
	go func() { served <- server.Serve(l) }()
	w.t.Cleanup(func() {
		server.Stop()
		ok(w.t, <-served)
		ok(w.t, conn.Close())
	})
	return l.Addr().String()
}

// TestTheTurnIsSoonerThanItsClient: a client that starts a turn, and is slow to ask whether
// it has begun, gets the result of a turn that is over by then.
func TestTheTurnIsSoonerThanItsClient(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	config := w.config(newService(t, agreeable).agents(2)...)
	w.worker("worker", config)
	arrive := make(chan struct{})
	way := w.through(func(ctx context.Context, request any, info *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
		if info.FullMethod == workflowservice.WorkflowService_UpdateWorkflowExecution_FullMethodName {
			select {
			case <-arrive:
			case <-ctx.Done():
			}
		}
		return handle(ctx, request)
	})
	client := w.start("client", "--config", config, "--temporal-address", way, "--temporal-queue", w.queue(),
		"--session-id", "s", "--json", "--automation", "energy?")
	c := w.dial()
	w.until("the turn is over", func() bool {
		found, err := c.DescribeWorkflowExecution(t.Context(), w.workflow(), "")
		return err == nil && found.WorkflowExecutionInfo.Status == enums.WORKFLOW_EXECUTION_STATUS_COMPLETED
	})
	close(arrive)
	if r := w.result(client); r.Status != "completed" || r.Winner != "agent2" || client.ProcessState.ExitCode() != 0 {
		t.Errorf("exit status %d, %s, %s has won: %s", client.ProcessState.ExitCode(), r.Status, r.Winner, client.stderr.String())
	}
}

// TestATurnOfWhoseStartNobodyHears is called off by the client that has asked for it: nobody
// would know what it costs.
func TestATurnOfWhoseStartNobodyHears(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for name, c := range map[string]struct {
		start       func(ctx context.Context, start func() (any, error), sought <-chan struct{}) (any, error)
		interrupted bool
		status      int
		told        string
	}{
		"its client is interrupted first": {func(ctx context.Context, start func() (any, error), _ <-chan struct{}) (any, error) {
			answer, err := start()
			<-ctx.Done()
			return answer, err
		}, true, 4, ""},
		"it comes after its client has looked for it": {func(ctx context.Context, start func() (any, error), sought <-chan struct{}) (any, error) {
			<-ctx.Done()
			<-sought
			return start()
		}, true, 4, ""},
		"the server says that it has failed": {func(_ context.Context, start func() (any, error), _ <-chan struct{}) (any, error) {
			if answer, err := start(); err != nil {
				return answer, err
			}
			return nil, status.Error(codes.InvalidArgument, "a word of the server")
		}, false, 2, "start the workflow: a word of the server\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := w.of(t)
			s := newService(t, func(backendtest.Call) backendtest.Reply { return backendtest.Reply{Fault: backendtest.HangBefore} })
			config := w.config(s.agents(3)...)
			w.worker("worker", config)
			asked, sought, begun := make(chan struct{}), make(chan struct{}), make(chan struct{})
			var looks atomic.Int32
			way := w.through(func(ctx context.Context, request any, info *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
				switch info.FullMethod {
				case workflowservice.WorkflowService_ExecuteMultiOperation_FullMethodName:
					close(asked)
					defer close(begun)
					return c.start(ctx, func() (any, error) { return handle(context.WithoutCancel(ctx), request) }, sought)
				case workflowservice.WorkflowService_DescribeWorkflowExecution_FullMethodName:
					if looks.Add(1) > 1 { // it gives up when it has looked for some seconds
						<-begun
						break
					}
					defer close(sought)
				}
				return handle(ctx, request)
			})
			client := w.start("client", "--config", config, "--temporal-address", way, "--temporal-queue", w.queue(),
				"--session-id", "s", "--json", "--automation", "energy?")
			<-asked
			if c.interrupted {
				ok(t, client.Process.Signal(os.Interrupt))
			}
			<-client.ended
			if code := client.ProcessState.ExitCode(); code != c.status || !strings.HasSuffix(client.stderr.String(), c.told) {
				t.Errorf("exit status %d: %s", code, client.stderr.String())
			}
			dialled := w.dial()
			w.until("the turn is over", func() bool {
				found, err := dialled.DescribeWorkflowExecution(t.Context(), w.workflow(), "")
				return err == nil && found.WorkflowExecutionInfo.Status != enums.WORKFLOW_EXECUTION_STATUS_RUNNING
			})
			w.until("no call goes on", func() bool { return s.Open() == 0 })
		})
	}
}

// TestAServerThatAnswersTooLate is asked again, and begins a turn once.
func TestAServerThatAnswersTooLate(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := newService(t, agreeable)
	config := w.config(s.agents(2)...)
	w.worker("worker", config)
	var workers, starts atomic.Int32
	way := w.through(func(ctx context.Context, request any, info *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
		answer, err := handle(context.WithoutCancel(ctx), request)
		switch info.FullMethod {
		case workflowservice.WorkflowService_DescribeTaskQueue_FullMethodName:
			if workers.Add(1) == 1 {
				<-ctx.Done()
			}
		case workflowservice.WorkflowService_ExecuteMultiOperation_FullMethodName:
			if starts.Add(1) == 1 {
				<-ctx.Done()
			}
		}
		return answer, err
	})
	r := w.result(w.start("client", "--config", config, "--temporal-address", way, "--temporal-queue", w.queue(),
		"--session-id", "s", "--json", "--automation", "energy?"))
	if r.Status != "completed" || r.Winner != "agent2" || r.Turn != 1 {
		t.Errorf("turn %d is %s, %s has won", r.Turn, r.Status, r.Winner)
	}
	if n := len(s.Calls()); n != r.Usage.Calls {
		t.Errorf("%d calls for the %d of the turn", n, r.Usage.Calls)
	}
}
