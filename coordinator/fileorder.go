package coordinator

import "context"

// fileOrder makes the calls of an agent that touch its files follow each other as they were started, which
// is the order of the model's message: a change waits for all earlier calls, a reading for earlier changes.
// All other calls run at once. The goroutine that owns the turn uses it.
type fileOrder struct {
	changed  <-chan struct{} // closed after the last change; nil before the first
	readings []<-chan struct{}
}

// enter returns what a call waits for, and the channel that it closes at its end.
func (o *fileOrder) enter(changes bool) (before []<-chan struct{}, done chan struct{}) {
	done = make(chan struct{})
	if o.changed != nil {
		before = append(before, o.changed)
	}
	if changes {
		before = append(before, o.readings...)
		o.changed, o.readings = done, nil
	} else {
		o.readings = append(o.readings, done)
	}
	return before, done
}

// waitForAll returns when all channels are closed, or ctx is over.
func waitForAll(ctx context.Context, channels []<-chan struct{}) {
	for _, c := range channels {
		select {
		case <-c:
		case <-ctx.Done():
			return
		}
	}
}
