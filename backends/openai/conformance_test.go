package openai_test

import (
	"os"
	"testing"

	"github.com/massgen/massgen/backends/backendtest"
	"github.com/massgen/massgen/backends/openai"
	"github.com/massgen/massgen/tests/leaks"
)

func TestMain(m *testing.M) {
	if os.Getenv(proxyChild) != "" {
		callThroughProxy()
		return
	}
	leaks.Main(m)
}

func TestConformance(t *testing.T) {
	t.Parallel()
	backendtest.Run(t, func(t *testing.T, s backendtest.Settings) backendtest.Harness {
		server := s.Serve(t, backendtest.ChatCompletions())
		backend := newBackend(t, openai.Config{
			Provider:         "local",
			BaseURL:          server.BaseURL,
			APIKey:           s.APIKey,
			FirstByteTimeout: s.FirstByteTimeout,
			IdleTimeout:      s.IdleTimeout,
			Transport:        s.Transport,
		})
		return backendtest.Harness{Backend: backend, Provider: "local", Calls: server.Calls, AwaitIdle: server.AwaitIdle}
	})
}
