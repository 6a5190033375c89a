package anthropic_test

import (
	"testing"

	"github.com/massgen/massgen/backends/anthropic"
	"github.com/massgen/massgen/tests/backendtest"
	"github.com/massgen/massgen/tests/leaks"
)

func TestMain(m *testing.M) { leaks.Main(m) }

func TestConformance(t *testing.T) {
	t.Parallel()
	backendtest.RunAdapter(t, backendtest.Messages(), anthropic.New)
}

func newBackend(t testing.TB, cfg anthropic.Config) *anthropic.Backend {
	t.Helper()
	return backendtest.Connect(t, anthropic.New, cfg)
}

func TestHostedTools(t *testing.T) {
	t.Parallel()
	backendtest.RunHosted(t, backendtest.Messages(), "claude-opus-4-6", anthropic.New)
}
