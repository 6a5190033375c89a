package wire

import "io"

// rewritten is a body of which a library reads what next makes of its events.
type rewritten struct {
	source io.ReadCloser
	events *EventReader
	next   func(*EventReader) ([]byte, error)
	out    []byte // what the library has not read yet
	err    error
}

// Rewrite returns a body for a library to read in place of source: the bytes that next
// makes of one event or more, up to its first error. next is called when all that it
// made before was read, and may make nothing.
func Rewrite(source io.ReadCloser, next func(*EventReader) ([]byte, error)) io.ReadCloser {
	return &rewritten{source: source, events: NewEventReader(source), next: next}
}

func (r *rewritten) Read(p []byte) (int, error) {
	for len(r.out) == 0 && r.err == nil {
		r.out, r.err = r.next(r.events)
	}
	if len(r.out) > 0 {
		n := copy(p, r.out)
		r.out = r.out[n:]
		return n, nil
	}
	return 0, r.err
}

func (r *rewritten) Close() error { return r.source.Close() }
