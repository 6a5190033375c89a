package wire

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/massgen/massgen/backends"
)

// Attempt is one request to a service and the reading of its answer, in the wire format
// of one adapter. E is an event of the answer as the adapter's library decodes it.
type Attempt[E any] struct {
	// Headers are sent beside the library's own, and replace those of the same name.
	Headers map[string]string
	// Rewrite returns the body to send in place of the one that the library made.
	Rewrite func(body []byte) ([]byte, error)
	// Show turns the body of a successful answer into what the library can read.
	Show func(body io.ReadCloser) io.ReadCloser
	// Open has the library send the request. The context ends with the caller's, and
	// when the service is silent for too long.
	Open func(ctx context.Context) (Source[E], error)
	// Answer receives the events.
	Answer Answer[E]
	// Abandon, if it is not nil, returns what is left of an answer that failed: its usage,
	// if it is known, and the tool calls that had begun and did not end.
	Abandon func() ([]backends.Event, []backends.ToolCall)
}

// Source is an answer as a library decodes it.
type Source[E any] interface {
	// Next returns the next event, or io.EOF after the last.
	Next() (E, error)
	Close() error
}

// Answer puts the events of one answer together.
type Answer[E any] interface {
	// Add takes the next event. It returns what can be told at once, and an error if the
	// answer cannot go on.
	Add(event E) ([]backends.Event, error)
	// Progress says how far the answer has come.
	Progress() Progress
	// End returns the last events of a whole answer. Its error says that the answer was
	// withheld.
	End() ([]backends.Event, error)
}

// Progress says how far an answer has come.
type Progress struct {
	// Begun says that a part of a message came, readable or not.
	Begun bool
	// Finished says that a finish reason came: the answer counts even if its stream
	// breaks off.
	Finished bool
	// Whole says that all that can still come is usage and the end mark, for which
	// TrailerTimeout is enough.
	Whole bool
	// Ended says that the end mark came: nothing more is read.
	Ended bool
}

// Run sends the request and gives the events of the answer to emit, until the answer is
// whole. It returns the error of emit, or a *backends.Error: a stream that ends with
// neither a finish reason nor an end mark was cut, and is never an answer. The usage
// that a failed answer told is emitted before its error.
func (a Attempt[E]) Run(ctx context.Context, s *Service, emit Emit) error {
	x := s.Begin(ctx, a.Headers)
	defer x.End()
	x.rewrite, x.show = a.Rewrite, a.Show
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
	return x.Failure(err, a.Answer.Progress().Begun, cut...)
}

// exchange sends the request, reads the answer and closes it.
func (a Attempt[E]) exchange(x *Exchange, emit Emit) error {
	if err := x.parent.Err(); err != nil {
		return err
	}
	source, err := a.Open(x.ctx)
	if err != nil {
		return err
	}
	err = a.read(x, source, emit)
	if err == nil {
		x.drain()
	}
	if closeErr := source.Close(); closeErr != nil && err == nil {
		return fmt.Errorf("close the stream: %w", closeErr)
	}
	return err
}

func (a Attempt[E]) read(x *Exchange, source Source[E], emit Emit) error {
	for !a.Answer.Progress().Ended {
		event, err := source.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			if a.Answer.Progress().Finished && x.parent.Err() == nil && !isStreamError(err) {
				break // all that is missing is usage and the end mark
			}
			return err
		}
		events, err := a.Answer.Add(event)
		if emitErr := emit(events...); emitErr != nil {
			return emitErr
		}
		if err != nil {
			return err
		}
		if a.Answer.Progress().Whole {
			x.watch.limitRest(TrailerTimeout)
		}
	}
	if p := a.Answer.Progress(); !p.Finished && !p.Ended {
		return ErrCut
	}
	events, err := a.Answer.End()
	if emitErr := emit(events...); emitErr != nil {
		return emitErr
	}
	return err
}
