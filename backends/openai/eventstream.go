package openai

import (
	"bytes"
	"encoding/json"
	"io"
	"slices"

	"github.com/massgen/massgen/internal/wire"
)

// newEventStream turns a response body into the server-sent events that go-openai
// reads: one "data:" line for each piece of the answer and nothing else. An error
// object or a body that is no stream ends it with an error. It sets ended when the end
// mark comes.
func newEventStream(source io.ReadCloser, ended *bool) io.ReadCloser {
	return wire.Rewrite(source, func(events *wire.EventReader) ([]byte, error) { return nextEvent(events, ended) })
}

const endMark = "data: [DONE]\n"

func nextEvent(events *wire.EventReader, ended *bool) ([]byte, error) {
	if *ended {
		return nil, io.EOF
	}
	event, err := events.Next()
	switch {
	case err != nil:
		return nil, err
	case event.Whole:
		out, err := wholeAnswer(event.Data)
		*ended = err == nil
		return out, err
	case string(event.Data) == "[DONE]":
		*ended = true
		return []byte(endMark), nil
	}
	return line(event.Data), nil
}

func line(payload []byte) []byte {
	if rest, isObject := bytes.CutPrefix(payload, []byte("{")); isObject {
		// go-openai takes any chunk that begins with {"error": for an error, also
		// when it is null; a space keeps it from that.
		return slices.Concat([]byte("data: { "), rest, []byte("\n"))
	}
	return slices.Concat([]byte("data: "), payload, []byte("\n"))
}

// wholeAnswer is a stream of one chunk: the answer of a service that does not stream.
func wholeAnswer(body []byte) ([]byte, error) {
	var whole struct {
		Choices []json.RawMessage `json:"choices"`
	}
	var compact bytes.Buffer
	if json.Unmarshal(body, &whole) != nil || whole.Choices == nil || json.Compact(&compact, body) != nil {
		return nil, wire.NewNotAnAnswer(body)
	}
	return append(line(compact.Bytes()), endMark...), nil
}
