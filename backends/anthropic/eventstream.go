package anthropic

import (
	"io"
	"slices"

	"github.com/massgen/massgen/internal/wire"
)

// newEventStream turns a response body into the server-sent events that the library
// reads. It gives each the same name, since all that matters is in the data: the
// library skips events without a name. An error event or a body that is no stream
// ends it with an error.
func newEventStream(source io.ReadCloser) io.ReadCloser { return wire.Rewrite(source, nextEvent) }

// nextEvent reads an event. Some proxies end every stream as OpenAI does.
func nextEvent(events *wire.EventReader) ([]byte, error) {
	event, err := events.Next()
	switch {
	case err != nil:
		return nil, err
	case event.Whole:
		return nil, wire.NewNotAnAnswer(event.Data)
	case string(event.Data) == "[DONE]":
		return nil, io.EOF
	}
	return slices.Concat([]byte("event: message\ndata: "), event.Data, []byte("\n\n")), nil
}
