package gemini

import (
	"encoding/json"
	"io"

	"github.com/massgen/massgen/backends/wire"
)

// emptyEvent is what the library reads in place of each event.
const emptyEvent = "data: {}\n\n"

// eventStream turns a response body into empty events, one for each event of the
// service. The library yields an event before it reads on, so that data is always
// that of the event which it has just yielded.
type eventStream struct {
	source io.ReadCloser
	events *wire.EventReader
	data   []byte
	out    string // what the library has not read yet
	// err is why the stream ended, io.EOF at the end of the body. The library is
	// told of the end only: it prints errors.
	err error
}

func newEventStream(source io.ReadCloser) *eventStream {
	return &eventStream{source: source, events: wire.NewEventReader(source)}
}

func (s *eventStream) Close() error { return s.source.Close() }

func (s *eventStream) Read(p []byte) (int, error) {
	if len(s.out) == 0 && s.err == nil {
		s.err = s.advance()
	}
	if s.err != nil {
		return 0, io.EOF
	}
	n := copy(p, s.out)
	s.out = s.out[n:]
	return n, nil
}

// advance reads the next event. An end mark is none: Gemini sends no such thing,
// but services that stand in for it do.
func (s *eventStream) advance() error {
	for {
		event, err := s.events.Next()
		if err != nil {
			return err
		}
		if event.Whole && !isAnswer(event.Data) {
			return wire.NewNotAnAnswer(event.Data)
		}
		if string(event.Data) != "[DONE]" {
			s.data, s.out = event.Data, emptyEvent
			return nil
		}
	}
}

// isAnswer says whether body is the whole answer of a service that does not
// stream.
func isAnswer(body []byte) bool {
	var fields struct {
		Candidates     json.RawMessage `json:"candidates"`
		PromptFeedback json.RawMessage `json:"promptFeedback"`
	}
	return json.Unmarshal(body, &fields) == nil && (fields.Candidates != nil || fields.PromptFeedback != nil)
}
