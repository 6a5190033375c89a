package backendtest

import "strings"

// samples are streams of a protocol that Reply has no words for.
type samples struct {
	// finished has all of the answer "x", and no end mark.
	finished string
	// endMark ends a stream, "" where streams have no end mark.
	endMark string
	// refused is an answer that the provider withheld.
	refused string
	// call has a tool call, whose number stands where %[1]d does.
	call string
}

func chatSamples() samples {
	return samples{
		finished: events(`{"choices":[{"delta":{"content":"x"},"finish_reason":"stop"}]}`),
		endMark:  endMark,
		refused:  events(`{"choices":[{"delta":{"content":"no"},"finish_reason":"content_filter"}]}`),
		call: events(`{"choices":[{"delta":{"tool_calls":[` +
			`{"index":%[1]d,"id":"id%[1]d","function":{"name":"vote","arguments":"{}"}}]}}]}`),
	}
}

func messagesSamples() samples {
	return samples{
		finished: events(
			`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"x"}}`,
			`{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":1}}`,
		),
		endMark: events(`{"type":"message_stop"}`),
		refused: events(`{"type":"message_delta","delta":{"stop_reason":"refusal"}}`),
		call: events(
			`{"type":"content_block_start","index":%[1]d,"content_block":{"type":"tool_use","id":"id%[1]d","name":"vote","input":{}}}`,
			`{"type":"content_block_stop","index":%[1]d}`,
		),
	}
}

func generateSamples() samples {
	return samples{
		finished: events(`{"candidates":[{"content":{"parts":[{"text":"x"}]},"finishReason":"STOP"}]}`),
		refused:  events(`{"promptFeedback":{"blockReason":"SAFETY"}}`),
		call:     events(`{"candidates":[{"content":{"parts":[{"functionCall":{"id":"id%[1]d","name":"vote","args":{}}}]}}]}`),
	}
}

// events is a stream of server-sent events with the given data.
func events(data ...string) string { return "data: " + strings.Join(data, "\n\ndata: ") + "\n\n" }
