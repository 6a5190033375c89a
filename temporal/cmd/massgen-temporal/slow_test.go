package main

import (
	"context"
	"net"
	"os"
	"testing"

	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/proxy"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/massgen/massgen/backends/backendtest"
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

// TestInterruptWhileATurnIsStarted: a client that is interrupted before it hears that its turn
// was started leaves none behind that costs money.
func TestInterruptWhileATurnIsStarted(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := newService(t, func(backendtest.Call) backendtest.Reply { return backendtest.Reply{Fault: backendtest.HangBefore} })
	config := w.config(s.agents(3)...)
	w.worker("worker", config)
	way := w.through(func(ctx context.Context, request any, info *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
		answer, err := handle(ctx, request)
		if info.FullMethod == workflowservice.WorkflowService_StartWorkflowExecution_FullMethodName && err == nil {
			<-ctx.Done() // the client is gone
		}
		return answer, err
	})
	client := w.start("client", "--config", config, "--temporal-address", way, "--temporal-queue", w.queue(),
		"--session-id", "s", "--json", "--automation", "energy?")
	w.until("the agents are asked", func() bool { return s.Open() == 3 })
	ok(t, client.Process.Signal(os.Interrupt))
	<-client.ended
	if client.ProcessState.ExitCode() != 4 {
		t.Errorf("exit status %d: %s", client.ProcessState.ExitCode(), client.stderr.String())
	}
	c := w.dial()
	w.until("the turn is over", func() bool {
		found, err := c.DescribeWorkflowExecution(t.Context(), w.workflow(), "")
		return err == nil && found.WorkflowExecutionInfo.Status != enums.WORKFLOW_EXECUTION_STATUS_RUNNING
	})
	if n := s.Open(); n > 0 {
		t.Errorf("%d calls go on", n)
	}
}
