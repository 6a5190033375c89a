package gemini_test

import (
	"testing"

	"github.com/massgen/massgen/backends/backendtest"
)

func TestEndlessResponses(t *testing.T) { backendtest.RunEndless(t, overTransport) }

const keptOpen = `data: {"candidates":[{"content":{"parts":[{"text":"x"}]},"finishReason":"STOP"}]}

`

func TestKeepAlivesAfterTheAnswer(t *testing.T) {
	backendtest.RunKeepAlives(t, keptOpen, overTransport)
}

const oneCall = `data: {"candidates":[{"content":{"parts":[{"functionCall":{"id":"id%[1]d","name":"vote","args":{}}}]}}]}

`

func TestManyCalls(t *testing.T) { backendtest.RunManyCalls(t, oneCall, overTransport) }
