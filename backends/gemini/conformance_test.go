package gemini_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/massgen/massgen/backends/backendtest"
	"github.com/massgen/massgen/backends/gemini"
)

// TestMain knows of one goroutine that the library's imports start for good.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreTopFunction("go.opencensus.io/stats/view.(*worker).start"))
}

func TestConformance(t *testing.T) {
	backendtest.Run(t, func(t *testing.T, s backendtest.Settings) backendtest.Harness {
		server := backendtest.NewProtocolServer(t, backendtest.GenerateContent(), s.Reply)
		backend := newBackend(t, gemini.Config{
			Provider:         "google",
			BaseURL:          server.BaseURL,
			APIKey:           s.APIKey,
			FirstByteTimeout: s.FirstByteTimeout,
			IdleTimeout:      s.IdleTimeout,
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
