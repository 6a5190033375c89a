package coordinator

import "context"

// fileOrders are the calls of the agents on their files, by the agents' indices.
type fileOrders map[int]*fileOrder

// fileOrder makes the calls of an agent that touch its files follow each other as they were started, which
// is the order of the model's message: a change waits for all earlier calls, a reading for earlier changes.
// All other calls run at once. The turn's goroutine uses it.
type fileOrder struct {
	changed  <-chan struct{} // closed after the last change; nil before the first
	readings []<-chan struct{}
}

// enter adds a call of an agent. It returns what the call waits for, and the function to call at its end.
func (orders fileOrders) enter(agent int, changes bool) (before []<-chan struct{}, done func()) {
	if orders[agent] == nil {
		orders[agent] = &fileOrder{}
	}
	o := orders[agent]
	over := make(chan struct{})
	if o.changed != nil {
		before = append(before, o.changed)
	}
	if changes {
		before = append(before, o.readings...)
		o.changed, o.readings = over, nil
	} else {
		o.readings = append(o.readings, over)
	}
	return before, func() { close(over) }
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
