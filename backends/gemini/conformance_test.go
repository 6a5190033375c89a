package gemini_test

import (
	"testing"

	"github.com/massgen/massgen/backends/gemini"
	"github.com/massgen/massgen/tests/backendtest"
	"github.com/massgen/massgen/tests/leaks"
)

func TestMain(m *testing.M) {
	leaks.Main(m)
}

func TestConformance(t *testing.T) {
	t.Parallel()
	backendtest.RunAdapter(t, backendtest.GenerateContent(), gemini.New)
}

func newBackend(t testing.TB, cfg gemini.Config) *gemini.Backend {
	t.Helper()
	return backendtest.Connect(t, gemini.New, cfg)
}

func TestHostedTools(t *testing.T) {
	t.Parallel()
	backendtest.RunHosted(t, backendtest.GenerateContent(), "gemini-3-pro", gemini.New)
}
