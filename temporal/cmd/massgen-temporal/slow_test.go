package main

import (
	"context"
	"net"
	"strings"
	"testing"

	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/proxy"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

// slowly returns the address of a way to the server, on which the requests of one method
// wait until arrive lets them go.
func (w *world) slowly(method string, arrive <-chan struct{}) string {
	w.t.Helper()
	conn, err := grpc.NewClient(w.address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	ok(w.t, err)
	service, err := proxy.NewWorkflowServiceProxyServer(proxy.WorkflowServiceProxyOptions{Client: workflowservice.NewWorkflowServiceClient(conn)})
	ok(w.t, err)
	server := grpc.NewServer(grpc.UnaryInterceptor(func(ctx context.Context, request any, info *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
		if strings.HasSuffix(info.FullMethod, "/"+method) {
			select {
			case <-arrive:
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		}
		return handle(ctx, request)
	}))
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
	client := w.start("client", "--config", config, "--temporal-address", w.slowly("UpdateWorkflowExecution", arrive), "--temporal-queue", w.queue(),
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
