package wire

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/massgen/massgen/backends"
)

// watchedBody is a response body that shows what it reads to the trace, under
// the eyes of the watchdog. It fails with ErrTooLong after MaxResponse bytes and those that allow adds.
type watchedBody struct {
	body io.ReadCloser
	read int
	// around is the number of bytes that do not count for MaxResponse.
	around int
	trace  *backends.Trace
	watch  *watchdog
}

func (b *watchedBody) Read(p []byte) (int, error) {
	limit := min(MaxResponse+b.around, MaxStream)
	if b.read > limit {
		return 0, ErrTooLong
	}
	b.watch.waiting()
	n, err := b.body.Read(p[:min(len(p), limit+1-b.read)])
	b.watch.heard(n)
	if b.read += n; b.read > limit {
		n, err = n-1, ErrTooLong
	}
	if n > 0 {
		b.trace.ReceivedChunk(p[:n])
	}
	return n, err
}

// allow takes an event that brought a part of the answer, by the size of its data, out of the count.
func (b *watchedBody) allow(data int) { b.around += min(data+framing, mostAround) }

func (b *watchedBody) Close() error { return b.body.Close() }

// silence is the cause with which a watchdog ends a call.
type silence struct {
	limit time.Duration
	what  string
}

func (s *silence) Error() string { return fmt.Sprintf("%s within %s", s.what, s.limit) }

// watchdog ends a call that is silent for too long, or takes too long for its rest.
// Time in which nobody reads does not count, except before the first byte. One
// goroutine uses it.
type watchdog struct {
	cancel context.CancelCauseFunc
	timer  *time.Timer // nil when there is no limit
	idle   time.Duration
	begun  bool
	// rest is what is left of the time for the rest of the answer, if that is
	// limited, and since is when the present wait began.
	limited bool
	rest    time.Duration
	since   time.Time
}

func newWatchdog(cancel context.CancelCauseFunc, firstByte, idle time.Duration) *watchdog {
	w := &watchdog{cancel: cancel, idle: idle}
	w.start(firstByte, "no first byte of an answer")
	return w
}

func (w *watchdog) start(limit time.Duration, what string) {
	w.stop()
	if limit > 0 {
		w.timer = time.AfterFunc(limit, func() { w.cancel(&silence{limit, what}) })
	}
}

func (w *watchdog) waiting() {
	if !w.begun {
		return
	}
	limit := w.idle
	if w.limited && (limit <= 0 || limit > w.rest) {
		limit = max(w.rest, 1) // 0 would mean no limit
	}
	w.since = time.Now()
	w.start(limit, "no more of the answer")
}

func (w *watchdog) heard(bytes int) {
	if w.begun && w.limited {
		w.rest -= time.Since(w.since)
	}
	w.begun = w.begun || bytes > 0
	if w.begun {
		w.stop()
	}
}

// limitRest limits the time that is waited for all the rest of an answer that has begun, however
// often a part of it comes. It can only be lowered.
func (w *watchdog) limitRest(limit time.Duration) {
	w.begun = true
	if !w.limited || w.rest > limit {
		w.limited, w.rest = true, limit
	}
}

func (w *watchdog) remove() {
	w.stop()
	w.idle = 0
}

func (w *watchdog) stop() {
	if w.timer != nil {
		w.timer.Stop()
		w.timer = nil
	}
}
