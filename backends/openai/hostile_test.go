package openai_test

import (
	"testing"

	"github.com/massgen/massgen/backends/backendtest"
)

func TestEndlessResponses(t *testing.T) { backendtest.RunEndless(t, overTransport) }

const keptOpen = `data: {"choices":[{"delta":{"content":"x"},"finish_reason":"stop"}]}

`

func TestKeepAlivesAfterTheAnswer(t *testing.T) {
	backendtest.RunKeepAlives(t, keptOpen, overTransport)
}

const oneCall = `data: {"choices":[{"delta":{"tool_calls":[{"index":%[1]d,"id":"id%[1]d","function":{"name":"vote","arguments":"{}"}}]}}]}

`

func TestManyCalls(t *testing.T) { backendtest.RunManyCalls(t, oneCall, overTransport) }
