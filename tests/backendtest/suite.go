package backendtest

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/massgen/massgen/backends"
)

// Settings is what a test of the suite wants of an adapter and its server.
type Settings struct {
	// Reply is what the server answers. A server of another protocol says the same
	// in that protocol's terms; it takes a ReplyError's Code for OpenAI's word.
	Reply func(Call) Reply
	// APIKey is what the adapter authorises itself with.
	APIKey string
	// FirstByteTimeout and IdleTimeout are the adapter's limits, 0 for its defaults.
	FirstByteTimeout time.Duration
	IdleTimeout      time.Duration
	// InMemory wants a server without the network: the test runs in a bubble of
	// testing/synctest.
	InMemory bool
	// Transport is the adapter's, nil for its default. Serve sets it.
	Transport http.RoundTripper
}

// Serve starts the server that the settings want, which speaks p, and sets Transport.
func (s *Settings) Serve(t testing.TB, p Protocol) *Server {
	if !s.InMemory {
		return NewProtocolServer(t, p, s.Reply)
	}
	server := NewProtocolPipeServer(t, p, s.Reply)
	s.Transport = server.Transport()
	return server
}

// Harness is an adapter under test and the server that it calls.
type Harness struct {
	Backend backends.Backend
	// Provider is the name that the adapter's errors carry.
	Provider string
	// Calls returns what the server received, in order.
	Calls func() []Call
	// WholeCalls reports whether the protocol has no pieces of tool calls.
	WholeCalls bool
	// AwaitIdle returns when the server answers no call any more, or with ctx's error.
	AwaitIdle func(ctx context.Context) error
}

// NewHarness makes an adapter and a server for one test, and ends both with it.
type NewHarness func(t *testing.T, s Settings) Harness

// Run checks what every adapter has to do, in no protocol's terms.
func Run(t *testing.T, newHarness NewHarness) {
	for _, group := range [][]check{answerChecks(), requestChecks(), errorChecks(), endChecks()} {
		for _, c := range group {
			t.Run(c.name, func(t *testing.T) { c.run(t, newHarness) })
		}
	}
}

type check struct {
	name string
	run  func(t *testing.T, newHarness NewHarness)
}

// patience is how long a test waits for what should happen at once.
const patience = time.Minute

func always(r Reply) func(Call) Reply { return func(Call) Reply { return r } }

// ask is a request that asks anything.
func ask() backends.Request {
	return backends.Request{
		Key:      backends.Key{Turn: 1, Agent: "a", Round: 1, Purpose: "step"},
		Model:    "test-model",
		Messages: []backends.Message{backends.System("Be brief."), backends.User("What is it?")},
	}
}

// call runs a request to its end, within patience.
func (h Harness) call(t *testing.T, req backends.Request) (backends.Response, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	return backends.Collect(h.Backend.Stream(ctx, req), nil)
}

func (h Harness) mustCall(t *testing.T, req backends.Request) backends.Response {
	t.Helper()
	resp, err := h.call(t, req)
	if err != nil {
		t.Fatalf("the call failed: %v", err)
	}
	return resp
}

// mustFail runs a request that has to fail, and checks what holds of all errors.
func (h Harness) mustFail(t *testing.T, req backends.Request) (backends.Response, *backends.Error) {
	t.Helper()
	resp, err := h.call(t, req)
	return resp, h.checkError(t, err)
}

func (h Harness) checkError(t *testing.T, err error) *backends.Error {
	t.Helper()
	var e *backends.Error
	if !errors.As(err, &e) {
		t.Fatalf("the call ended with %T %v, not with a *backends.Error", err, err)
	}
	if e.Provider != h.Provider {
		t.Errorf("the error names provider %q, not %q", e.Provider, h.Provider)
	}
	if e.Message == "" {
		t.Error("the error says nothing")
	}
	return e
}

func (h Harness) mustBecomeIdle(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := h.AwaitIdle(ctx); err != nil {
		t.Errorf("the connection is still in use: %v", err)
	}
}

func same(t *testing.T, what string, want, got any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s differs (-want +got):\n%s", what, diff)
	}
}
