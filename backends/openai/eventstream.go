package openai

import (
	"bytes"
	"encoding/json"
	"io"
	"slices"

	"github.com/massgen/massgen/backends/wire"
)

// eventStream turns a response body into the server-sent events that go-openai
// reads: one "data:" line for each piece of the answer and nothing else. An error
// object or a body that is no stream ends it with an error, and done tells whether
// the end mark came.
type eventStream struct {
	io.ReadCloser
	done bool
}

func newEventStream(source io.ReadCloser) *eventStream {
	s := &eventStream{}
	s.ReadCloser = wire.Rewrite(source, s.next)
	return s
}

const endMark = "data: [DONE]\n"

func (s *eventStream) next(events *wire.EventReader) ([]byte, error) {
	if s.done {
		return nil, io.EOF
	}
	event, err := events.Next()
	switch {
	case err != nil:
		return nil, err
	case event.Whole:
		out, err := wholeAnswer(event.Data)
		s.done = err == nil
		return out, err
	case string(event.Data) == "[DONE]":
		s.done = true
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
