package wire

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/massgen/massgen/backends"
)

// Attempt is one request to a service and the reading of its answer, in the wire format
// of one adapter. E is an event of the answer, decoded from JSON.
type Attempt[E any] struct {
	// Headers are sent beside the library's own, and replace headers of the same name.
	Headers map[string]string
	// Body is sent in place of the body that the library makes.
	Body Encoded
	// Open has the library send the request. The context ends with the caller's, and
	// when the service is silent for too long. The library sees an empty answer.
	Open func(ctx context.Context) error
	// Answer receives the events.
	Answer Answer[E]
	// IsAnswer reports whether the JSON of an event, or of a body in place of events, is a part of
	// an answer or a whole one, and no error in a form of the service's own. It reports true for
	// every event that Answer knows. Nil takes no body of JSON, and each event for a part.
	IsAnswer func(body []byte) bool
	// Marked reports whether an end mark makes an answer whole that has no finish reason.
	// The end of a body that is JSON is such a mark.
	Marked bool
	// Abandon, if it is not nil, returns what is left of an answer that failed: its usage,
	// if it is known, and the tool calls that had begun and did not end.
	Abandon func() ([]backends.Event, []backends.ToolCall)
}

// Answer puts the events of one answer together.
type Answer[E any] interface {
	// Add takes the next event. It returns the events that are complete, and an error if the
	// answer cannot go on.
	Add(event E) ([]backends.Event, error)
	// Progress returns how far the answer has come.
	Progress() Progress
	// End returns the last events of a whole answer, or an error if the answer was
	// withheld.
	End() ([]backends.Event, error)
}

// Progress is how far an answer has come.
type Progress struct {
	// Begun reports whether a part of a message came, readable or not.
	Begun bool
	// Finished reports whether a finish reason came: the answer counts even if its stream
	// breaks off.
	Finished bool
	// Whole reports whether all that can still come is usage and the end mark, for which
	// TrailerTimeout is enough.
	Whole bool
	// Ended reports whether the end mark came: nothing more is read.
	Ended bool
	// Size is the number of bytes of texts, reasoning and arguments that came.
	Size int
}

// Run sends the request and gives the events of the answer to emit, until the answer is
// whole. It returns the error of emit, or a *backends.Error: a stream that ends with
// neither a finish reason nor an end mark was cut, and is never an answer. The usage
// that a failed answer told is emitted before its error.
func (a Attempt[E]) Run(ctx context.Context, s *Service, emit Emit) error {
	x := s.begin(ctx, a.Headers)
	defer x.end()
	x.body = a.Body
	err := a.exchange(x, emit)
	if err == nil || errors.Is(err, errStopped) {
		return err
	}
	var cut []backends.ToolCall
	if a.Abandon != nil {
		var usage []backends.Event
		usage, cut = a.Abandon()
		if err := emit(usage...); err != nil {
			return err
		}
	}
	return x.fail(err, a.Answer.Progress().Begun || isUnreadable(err), cut...)
}

// exchange sends the request, reads the answer and closes it.
func (a Attempt[E]) exchange(x *exchange, emit Emit) error {
	if err := x.parent.Err(); err != nil {
		return err
	}
	if err := x.open(a.Open); err != nil {
		return err
	}
	err := a.read(x, emit)
	if err == nil {
		x.drain()
	}
	if closeErr := x.kept.Close(); closeErr != nil && err == nil {
		return fmt.Errorf("close the stream: %w", closeErr)
	}
	return err
}

// endMark is the data of a stream's last event. Services that stand in for others send
// it with every protocol.
const endMark = "[DONE]"

func (a Attempt[E]) read(x *exchange, emit Emit) error {
	events := newEventReader(x.kept, a.IsAnswer)
	marked := false
	for !a.Answer.Progress().Ended {
		data, err := events.next()
		if errors.Is(err, io.EOF) || err == nil && string(data) == endMark {
			marked = err == nil || events.endsMarked()
			break
		}
		if err != nil {
			if a.Answer.Progress().Finished && x.parent.Err() == nil && !isStreamError(err) {
				break // all that is missing is usage and the end mark
			}
			return err
		}
		size := a.Answer.Progress().Size
		if err := a.add(data, emit); isUnreadable(err) && a.Answer.Progress().Whole {
			break // as where the stream breaks off
		} else if err != nil {
			return err
		}
		now := a.Answer.Progress()
		if now.Size > MaxResponse {
			return ErrTooLong
		}
		if now.Size > size {
			x.kept.allow(len(data))
		}
		if now.Whole {
			x.watch.limitRest(TrailerTimeout)
		}
	}
	if p := a.Answer.Progress(); !p.Finished && !p.Ended && !(marked && a.Marked) {
		return ErrCut
	}
	last, err := a.Answer.End()
	if emitErr := emit(last...); emitErr != nil {
		return emitErr
	}
	return err
}

// add decodes an event and gives it to the answer.
func (a Attempt[E]) add(data []byte, emit Emit) error {
	var event E
	if err := json.Unmarshal(data, &event); err != nil {
		return &unreadable{fmt.Errorf("a piece of the stream cannot be read (%w): %s", err, data[:min(len(data), maxShown)])}
	}
	events, err := a.Answer.Add(event)
	if emitErr := emit(events...); emitErr != nil {
		return emitErr
	}
	return err
}

// unreadable is the error of a piece of an answer that is not in its wire format.
type unreadable struct{ error }

func isUnreadable(err error) bool {
	var e *unreadable
	return errors.As(err, &e)
}
