package backendtest

import (
	"errors"
	"io"
	"net/http"
	"testing"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/internal/models/wire"
)

// Closer is a backend that holds connections.
type Closer interface {
	backends.Backend
	io.Closer
}

// RunAdapter checks what every adapter has to do: Run, on a server that speaks p, and
// the table of what may go wrong below the protocol. connect makes an adapter.
func RunAdapter[B Closer](t *testing.T, p Protocol, connect func(wire.Config) (B, error)) {
	Run(t, Around(p, connect, func(inner B) backends.Backend { return inner }))
	a := adapter{Protocol: p, connect: func(cfg wire.Config) (Closer, error) { return connect(cfg) }}
	for _, c := range failures() {
		t.Run(c.name, func(t *testing.T) { c.run(t, a) })
	}
}

// Around makes a harness of an adapter, on a server that speaks p, and of what wrap puts
// around it.
func Around[B Closer](p Protocol, connect func(wire.Config) (B, error), wrap func(B) backends.Backend) NewHarness {
	return func(t *testing.T, s Settings) Harness {
		server := s.Serve(t, p)
		inner := Connect(t, connect, wire.Config{
			Provider: provider, BaseURL: server.BaseURL, APIKey: s.APIKey, Transport: s.Transport,
			FirstByteTimeout: s.FirstByteTimeout, IdleTimeout: s.IdleTimeout,
		})
		return Harness{Backend: wrap(inner), Provider: provider, Calls: server.Calls, AwaitIdle: server.AwaitIdle, WholeCalls: p.WholeCalls}
	}
}

// provider is the name that the adapters under test are given.
const provider = "local"

// Connect makes an adapter, and closes it when t ends.
func Connect[B Closer](t testing.TB, connect func(wire.Config) (B, error), cfg wire.Config) B {
	t.Helper()
	backend, err := connect(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := backend.Close(); err != nil {
			t.Error(err)
		}
	})
	return backend
}

// Fail runs a request that has to fail, and returns its error.
func Fail(t testing.TB, backend backends.Backend, req backends.Request) *backends.Error {
	t.Helper()
	_, err := backends.Collect(backend.Stream(t.Context(), req), nil)
	var e *backends.Error
	if !errors.As(err, &e) {
		t.Fatalf("the call ended with %v, not with a *backends.Error", err)
	}
	return e
}

// RoundTripper is a transport that answers as the function does.
type RoundTripper func(*http.Request) (*http.Response, error)

// RoundTrip answers a request.
func (f RoundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

// adapter is an adapter under test, and what its service speaks.
type adapter struct {
	Protocol

	connect func(wire.Config) (Closer, error)
}

func (a adapter) backend(t testing.TB, cfg wire.Config) backends.Backend {
	t.Helper()
	cfg.Provider = provider
	return Connect(t, a.connect, cfg)
}

// over makes a backend over a transport.
func (a adapter) over(t testing.TB, transport http.RoundTripper) backends.Backend {
	t.Helper()
	return a.backend(t, wire.Config{Transport: transport})
}

// inBubble makes a backend and a server with the given reply, for a bubble of
// testing/synctest.
func (a adapter) inBubble(t testing.TB, cfg wire.Config, reply Reply) backends.Backend {
	t.Helper()
	server := NewProtocolPipeServer(t, a.Protocol, always(reply))
	cfg.BaseURL, cfg.Transport = server.BaseURL, server.Transport()
	return a.backend(t, cfg)
}
