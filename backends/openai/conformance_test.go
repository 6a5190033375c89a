package openai_test

import (
	"os"
	"testing"

	"github.com/massgen/massgen/backends/openai"
	"github.com/massgen/massgen/tests/backendtest"
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
	backendtest.RunAdapter(t, backendtest.ChatCompletions(), openai.New)
}
