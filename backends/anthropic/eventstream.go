package anthropic

import (
	"io"

	"github.com/massgen/massgen/backends/wire"
)

// eventStream turns a response body into the server-sent events that the library
// reads. It gives each the same name, since all that matters is in the data: the
// library skips events without a name. An error event or a body that is no stream
// ends it with an error.
type eventStream struct {
	source io.ReadCloser
	events *wire.EventReader
	out    []byte // what the library has not read yet
	err    error
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

// advance reads the next event. Some proxies end every stream as OpenAI does.
func (s *eventStream) advance() error {
	event, err := s.events.Next()
	switch {
	case err != nil:
		return err
	case event.Whole:
		return wire.NewNotAnAnswer(event.Data)
	case string(event.Data) == "[DONE]":
		return io.EOF
	}
	s.out = append(s.out, "event: message\ndata: "...)
	s.out = append(append(s.out, event.Data...), "\n\n"...)
	return nil
}
