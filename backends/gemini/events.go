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
	io.ReadCloser
	data []byte
	// err is why the stream ended, io.EOF at the end of the body. The library is
	// told of the end only: it prints errors.
	err error
}

func newEventStream(source io.ReadCloser) *eventStream {
	s := &eventStream{}
	s.ReadCloser = wire.Rewrite(source, s.next)
	return s
}

func (s *eventStream) next(events *wire.EventReader) ([]byte, error) {
	if s.data, s.err = nextEvent(events); s.err != nil {
		return nil, io.EOF
	}
	return []byte(emptyEvent), nil
}

// nextEvent returns the data of the next event. An end mark is none: Gemini sends no
// such thing, but services that stand in for it do.
func nextEvent(events *wire.EventReader) ([]byte, error) {
	for {
		event, err := events.Next()
		if err != nil {
			return nil, err
		}
		if event.Whole && !isAnswer(event.Data) {
			return nil, wire.NewNotAnAnswer(event.Data)
		}
		if string(event.Data) != "[DONE]" {
			return event.Data, nil
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
