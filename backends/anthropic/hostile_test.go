package anthropic_test

import (
	"testing"

	"github.com/massgen/massgen/backends/backendtest"
)

func TestEndlessResponses(t *testing.T) { backendtest.RunEndless(t, overTransport) }
