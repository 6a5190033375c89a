package coordinator

import (
	"context"
	"iter"
	"sync"
	"time"

	"github.com/massgen/massgen/coordinator/report"
)

// eventLog keeps a turn's events for early and late subscribers.
type eventLog struct {
	mu      sync.Mutex
	events  []logged
	closed  bool
	changed chan struct{} // closed, and forgotten, when there is more; nil if nobody waits
	// replaying marks added events as Replayed.
	replaying bool
}

// logged is an event with what its header says once somebody reads it.
type logged struct {
	event    report.Event
	at       time.Time
	replayed bool
}

// add adds events. After close it drops them, which concerns only the late output of an
// abandoned call.
func (l *eventLog) add(events ...report.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed || len(events) == 0 {
		return
	}
	for _, ev := range events {
		l.events = append(l.events, logged{ev, time.Now(), l.replaying})
	}
	l.broadcast()
}

// replay sets whether events that are added from now on come from a journal.
func (l *eventLog) replay(on bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.replaying = on
}

func (l *eventLog) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	l.broadcast()
}

func (l *eventLog) broadcast() {
	if l.changed != nil {
		close(l.changed)
		l.changed = nil
	}
}

// after returns the events from position i on, whether more may come, and a channel that is
// closed when they do.
func (l *eventLog) after(i int) ([]logged, bool, <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.changed == nil {
		l.changed = make(chan struct{})
	}
	return l.events[i:len(l.events):len(l.events)], !l.closed, l.changed
}

func (l *eventLog) all(ctx context.Context) iter.Seq[report.Event] {
	return func(yield func(report.Event) bool) {
		for i := 0; ; {
			events, more, changed := l.after(i)
			for _, ev := range events {
				if !yield(report.Stamp(ev.event, ev.at, ev.replayed)) {
					return
				}
			}
			i += len(events)
			if len(events) > 0 {
				continue
			}
			if !more {
				return
			}
			select {
			case <-changed:
			case <-ctx.Done():
				return
			}
		}
	}
}
