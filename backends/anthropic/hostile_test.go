package anthropic_test

import (
	"testing"

	"github.com/massgen/massgen/backends/backendtest"
)

func TestEndlessResponses(t *testing.T) { backendtest.RunEndless(t, overTransport) }

const keptOpen = `data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"x"}}

data: {"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":1}}

`

func TestKeepAlivesAfterTheAnswer(t *testing.T) {
	backendtest.RunKeepAlives(t, keptOpen, overTransport)
}

const oneCall = `data: {"type":"content_block_start","index":%[1]d,"content_block":{"type":"tool_use","id":"id%[1]d","name":"vote","input":{}}}

data: {"type":"content_block_stop","index":%[1]d}

`

func TestManyCalls(t *testing.T) { backendtest.RunManyCalls(t, oneCall, overTransport) }
