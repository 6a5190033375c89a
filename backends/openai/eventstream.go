package openai

import (
	"bytes"
	"encoding/json"
	"io"

	"github.com/massgen/massgen/backends/wire"
)

// eventStream turns a response body into the server-sent events that go-openai
// reads: one "data:" line for each piece of the answer and nothing else. An error
// object or a body that is no stream ends it with an error, and done tells whether
// the end mark came.
type eventStream struct {
	source io.ReadCloser
	events *wire.EventReader
	out    []byte // what go-openai has not read yet
	err    error
	done   bool
}

func newEventStream(source io.ReadCloser) *eventStream {
	return &eventStream{source: source, events: wire.NewEventReader(source)}
}

func (s *eventStream) Close() error { return s.source.Close() }

func (s *eventStream) Read(p []byte) (int, error) {
	for len(s.out) == 0 && s.err == nil {
		s.err = s.advance()
	}
	if len(s.out) > 0 {
		n := copy(p, s.out)
		s.out = s.out[n:]
		return n, nil
	}
	return 0, s.err
}

// advance reads until there is something to say.
func (s *eventStream) advance() error {
	if s.done {
		return io.EOF
	}
	event, err := s.events.Next()
	switch {
	case err != nil:
		return err
	case event.Whole:
		return s.addWhole(event.Data)
	case string(event.Data) == "[DONE]":
		s.end()
	default:
		s.add(event.Data)
	}
	return nil
}

func (s *eventStream) end() {
	s.done = true
	s.out = append(s.out, "data: [DONE]\n"...)
}

func (s *eventStream) add(payload []byte) {
	s.out = append(s.out, "data: "...)
	if bytes.HasPrefix(payload, []byte("{")) {
		// go-openai takes any chunk that begins with {"error": for an error, also
		// when it is null; a space keeps it from that.
		s.out = append(s.out, "{ "...)
		payload = payload[1:]
	}
	s.out = append(append(s.out, payload...), '\n')
}

// addWhole handles the answer of a service that does not stream.
func (s *eventStream) addWhole(body []byte) error {
	var whole struct {
		Choices []json.RawMessage `json:"choices"`
	}
	var compact bytes.Buffer
	if json.Unmarshal(body, &whole) != nil || whole.Choices == nil || json.Compact(&compact, body) != nil {
		return wire.NewNotAnAnswer(body)
	}
	s.add(compact.Bytes())
	s.end()
	return nil
}
