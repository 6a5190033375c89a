package wire

import (
	"errors"
	"iter"

	"github.com/massgen/massgen/backends"
)

// ErrStopped says that the reader of a stream broke out of its loop.
var ErrStopped = errors.New("the reader stopped")

// Stream makes a stream of run, which is called anew each time the stream is read.
// It gives each event to emit until emit says false, and returns ErrStopped then;
// any other error ends the stream.
func Stream(run func(emit func(backends.Event) bool) error) iter.Seq2[backends.Event, error] {
	return func(yield func(backends.Event, error) bool) {
		err := run(func(ev backends.Event) bool { return yield(ev, nil) })
		if err != nil && !errors.Is(err, ErrStopped) {
			yield(nil, err)
		}
	}
}
