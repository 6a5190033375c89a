package gemini_test

import (
	"testing"

	"github.com/massgen/massgen/backends/backendtest"
	"github.com/massgen/massgen/backends/gemini"
	"github.com/massgen/massgen/tests/leaks"
)

func TestMain(m *testing.M) {
	leaks.Main(m)
}

func TestConformance(t *testing.T) {
	t.Parallel()
	backendtest.Run(t, func(t *testing.T, s backendtest.Settings) backendtest.Harness {
		server := s.Serve(t, backendtest.GenerateContent())
		backend := newBackend(t, gemini.Config{
			Provider:         "google",
			BaseURL:          server.BaseURL,
			APIKey:           s.APIKey,
			FirstByteTimeout: s.FirstByteTimeout,
			IdleTimeout:      s.IdleTimeout,
			Transport:        s.Transport,
		})
		return backendtest.Harness{Backend: backend, Provider: "google", Calls: server.Calls, AwaitIdle: server.AwaitIdle}
	})
}

func newBackend(t testing.TB, cfg gemini.Config) *gemini.Backend {
	t.Helper()
	backend, err := gemini.New(cfg)
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
