package main

import (
	"bytes"
	"fmt"
	"strconv"
)

// answer is how the server answers a call.
type answer int

const (
	says    answer = iota // with a text, to an agent alone
	answers               // by new_answer
	votes                 // by vote, for the first agent
)

// What decides about an answer, as it stands in the bodies of the program.
const (
	newAnswerTool = `"name":"new_answer"`
	noAnswers     = "(no answers available yet)"
)

func answerTo(body []byte) answer {
	switch {
	case !bytes.Contains(body, []byte(newAnswerTool)):
		return says
	case bytes.Contains(body, []byte(noAnswers)):
		return answers
	}
	return votes
}

// round returns the index of the round in which an agent is answered so.
func (a answer) round() int {
	if a == votes {
		return 1
	}
	return 0
}

// bytesPerToken is what the server takes for a token of an input.
const bytesPerToken = 4

// The streams are chunks of chat completions. The first has the answer, the second its end,
// and the third the usage.
const (
	chunk = `data: {"id":"c%[1]d","object":"chat.completion.chunk","created":1,"model":"mock","choices":[{"index":0,"delta":{"role":"assistant",%[2]s},"finish_reason":null}]}

data: {"id":"c%[1]d","object":"chat.completion.chunk","created":1,"model":"mock","choices":[{"index":0,"delta":{},"finish_reason":"%[3]s"}]}

data: {"id":"c%[1]d","object":"chat.completion.chunk","created":1,"model":"mock","choices":[],"usage":{"prompt_tokens":%[4]d,"completion_tokens":20,"total_tokens":%[5]d}}

data: [DONE]

`
	toolCall = `"tool_calls":[{"index":0,"id":"call-%d","type":"function","function":{"name":%q,"arguments":%s}}]`
)

// stream returns the whole body of an answer to a call by its number and its input's tokens.
func (a answer) stream(number, tokens int) []byte {
	text := fmt.Sprintf("Answer %d: the sun, the wind and the water cost little and last.", number)
	delta, reason := `"content":`+strconv.Quote(text), "stop"
	switch a {
	case answers:
		delta, reason = fmt.Sprintf(toolCall, number, "new_answer", strconv.Quote(`{"content":"`+text+`"}`)), "tool_calls"
	case votes:
		delta, reason = fmt.Sprintf(toolCall, number, "vote", strconv.Quote(`{"agent_id":"agent1","reason":"It is short."}`)), "tool_calls"
	}
	return fmt.Appendf(nil, chunk, number, delta, reason, tokens, tokens+20)
}
