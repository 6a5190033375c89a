package wire

import (
	"errors"
	"iter"

	"github.com/massgen/massgen/backends"
)

// Emit gives events to the reader of a stream, in their order. It fails if the reader
// broke out of its loop: the caller returns this error, and emits nothing more.
type Emit func(...backends.Event) error

var errStopped = errors.New("the reader stopped")

// Stream makes a stream of run, which is called anew each time the stream is read. An
// error of run that is not from emit ends the stream.
func Stream(run func(emit Emit) error) iter.Seq2[backends.Event, error] {
	return func(yield func(backends.Event, error) bool) {
		err := run(func(events ...backends.Event) error {
			for _, ev := range events {
				if !yield(ev, nil) {
					return errStopped
				}
			}
			return nil
		})
		if err != nil && !errors.Is(err, errStopped) {
			yield(nil, err)
		}
	}
}
