package gemini

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"

	"google.golang.org/genai"

	"github.com/massgen/massgen/internal/wire"
)

// emptyEvent is what the library reads in place of each event.
const emptyEvent = "data: {}\n\n"

// eventStream hides an answer from the library: for each event of the service, the library
// sees an empty one. The stream yields an event before it reads the next, so data always
// belongs to the event just yielded.
type eventStream struct {
	data []byte
	// err is why the stream ended, io.EOF at the end of the body. The library is
	// told of the end only: it prints errors.
	err error

	next func() (*genai.GenerateContentResponse, error, bool)
	stop func()
	// more says that the library has yielded an event that Next has not returned.
	more bool
}

// read returns what the library reads in place of body.
func (s *eventStream) read(body io.ReadCloser) io.ReadCloser {
	return wire.Rewrite(body, func(events *wire.EventReader) ([]byte, error) {
		if s.data, s.err = nextEvent(events); s.err != nil {
			return nil, io.EOF
		}
		return []byte(emptyEvent), nil
	})
}

// open has the library send the request, and fails if no answer comes.
func (s *eventStream) open(responses iter.Seq2[*genai.GenerateContentResponse, error]) error {
	s.next, s.stop = iter.Pull2(responses)
	err := s.advance()
	if err != nil {
		s.stop()
	}
	return err
}

func (s *eventStream) advance() (err error) {
	_, err, s.more = s.next()
	return err
}

// Next returns the data of the next event.
func (s *eventStream) Next() ([]byte, error) {
	if !s.more {
		if err := s.advance(); err != nil {
			return nil, err
		}
	}
	switch {
	case s.more:
		s.more = false
		return s.data, nil
	case errors.Is(s.err, io.EOF):
		return nil, io.EOF
	}
	return nil, fmt.Errorf("read the stream: %w", s.err)
}

// Close has the library close the body.
func (s *eventStream) Close() error {
	s.stop()
	return nil
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
