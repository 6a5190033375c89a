package openai_test

import (
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/massgen/massgen/backends/backendtest"
	"github.com/massgen/massgen/backends/openai"
)

func TestMain(m *testing.M) {
	if os.Getenv(proxyChild) != "" {
		callThroughProxy()
		return
	}
	goleak.VerifyTestMain(m)
}

func TestConformance(t *testing.T) {
	backendtest.Run(t, func(t *testing.T, s backendtest.Settings) backendtest.Harness {
		server := backendtest.NewServer(t, s.Reply)
		backend := newBackend(t, openai.Config{
			Provider:         "local",
			BaseURL:          server.BaseURL,
			APIKey:           s.APIKey,
			FirstByteTimeout: s.FirstByteTimeout,
			IdleTimeout:      s.IdleTimeout,
		})
		return backendtest.Harness{Backend: backend, Provider: "local", Calls: server.Calls, AwaitIdle: server.AwaitIdle}
	})
}
