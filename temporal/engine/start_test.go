package engine

import (
	"context"
	"errors"
	"net"
	"sync/atomic"
	"testing"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/grpc"
)

// settingUp is a server that finds the namespace of a turn only after a while.
type settingUp struct {
	workflowservice.UnimplementedWorkflowServiceServer
	starts atomic.Int32
}

func (s *settingUp) GetSystemInfo(context.Context, *workflowservice.GetSystemInfoRequest) (*workflowservice.GetSystemInfoResponse, error) {
	return &workflowservice.GetSystemInfoResponse{}, nil
}

// ExecuteMultiOperation takes no turn: at first since the namespace is missing, then with another error.
func (s *settingUp) ExecuteMultiOperation(context.Context, *workflowservice.ExecuteMultiOperationRequest) (*workflowservice.ExecuteMultiOperationResponse, error) {
	err := serviceerror.NewNamespaceNotFound("default")
	if s.starts.Add(1) > 1 {
		return nil, serviceerror.ToStatus(serviceerror.NewPermissionDenied("no", "")).Err()
	}
	return nil, serviceerror.ToStatus(serviceerror.NewMultiOperationExecution("not started", []error{err, serviceerror.NewMultiOperationAborted("aborted")})).Err()
}

// DescribeWorkflowExecution finds no turn.
func (s *settingUp) DescribeWorkflowExecution(context.Context, *workflowservice.DescribeWorkflowExecutionRequest) (*workflowservice.DescribeWorkflowExecutionResponse, error) {
	return nil, serviceerror.ToStatus(serviceerror.NewNotFound("no such turn")).Err()
}

// TestStartWaitsForTheNamespace that a server which begins does not find yet.
func TestStartWaitsForTheNamespace(t *testing.T) {
	fake := &settingUp{}
	server := grpc.NewServer()
	workflowservice.RegisterWorkflowServiceServer(server, fake)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve(l) }()
	t.Cleanup(func() {
		server.Stop()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	e, err := Dial(t.Context(), Options{Address: l.Addr().String()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	})
	_, err = e.start(t.Context(), "queue", request{Session: "s"})
	var denied *serviceerror.PermissionDenied
	if n := fake.starts.Load(); n != 2 || !errors.As(err, &denied) {
		t.Errorf("after %d requests: %v", n, err)
	}
}
