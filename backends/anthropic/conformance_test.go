package anthropic_test

import (
	"testing"

	"github.com/massgen/massgen/backends/anthropic"
	"github.com/massgen/massgen/backends/backendtest"
	"github.com/massgen/massgen/tests/leaks"
)

func TestMain(m *testing.M) { leaks.Main(m) }

func TestConformance(t *testing.T) {
	t.Parallel()
	backendtest.Run(t, func(t *testing.T, s backendtest.Settings) backendtest.Harness {
		server := s.Serve(t, backendtest.Messages())
		backend := newBackend(t, anthropic.Config{
			Provider:         "claude",
			BaseURL:          server.BaseURL,
			APIKey:           s.APIKey,
			FirstByteTimeout: s.FirstByteTimeout,
			IdleTimeout:      s.IdleTimeout,
			Transport:        s.Transport,
		})
		return backendtest.Harness{Backend: backend, Provider: "claude", Calls: server.Calls, AwaitIdle: server.AwaitIdle}
	})
}

func newBackend(t testing.TB, cfg anthropic.Config) *anthropic.Backend {
	t.Helper()
	backend, err := anthropic.New(cfg)
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
