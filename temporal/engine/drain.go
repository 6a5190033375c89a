package engine

import (
	"context"
	"sync"
	"time"

	"github.com/massgen/massgen/internal/system/sleep"
)

// Drain is the end of a worker that takes no more work.
type Drain struct {
	// Longest is the longest time that calls under way may go on.
	Longest time.Duration
	// Turns says that turns whose tools are on the worker go on, too.
	Turns bool
	// Now is done when the worker is to end at once.
	Now context.Context
}

// drain lets the calls under way end, and the turns whose tools are here if d says so. Then it
// cuts the other calls, and tells the other turns that their tools are lost. returned waits for
// the activities of the queues that all workers share.
func (h *activities) drain(d Drain, returned func()) {
	const pause, asks = 100 * time.Millisecond, time.Second // about calls here, and about turns in the database
	ctx, cancel := context.WithTimeout(d.Now, d.Longest)
	defer cancel()
	done := make(chan struct{})
	go func() {
		defer close(done)
		returned()
	}()
	select {
	case <-done:
	case <-ctx.Done():
	}
	for isCut := false; !isCut; {
		wait := pause
		if h.inFlight.isIdle() {
			if !d.Turns || h.homed.prune(ctx, h.as) == 0 {
				break
			}
			wait = asks
		}
		isCut = sleep.For(ctx, wait) != nil
	}
	h.inFlight.end()
	giving, stop := context.WithTimeout(context.WithoutCancel(ctx), giveBackTime)
	defer stop()
	h.homed.leave(giving, h.workflows, h.home)
}

// homed are the turns that have their tools on this worker, by the workflow of each. The zero
// value has none. homed is safe for concurrent use.
type homed struct {
	mu    sync.Mutex
	turns map[string]held
	// most is the number of turns above which those that are over are forgotten.
	most int
}

// add adds a turn. From time to time it forgets those that are over.
func (l *homed) add(ctx context.Context, workflow string, t held, as func(owner string) Store) {
	const few = 64
	l.mu.Lock()
	if l.turns == nil {
		l.turns, l.most = map[string]held{}, few
	}
	l.turns[workflow] = t
	isFull := len(l.turns) > l.most
	l.mu.Unlock()
	if isFull {
		left := l.prune(ctx, as)
		l.mu.Lock()
		l.most = 2*left + few
		l.mu.Unlock()
	}
}

// list returns the turns.
func (l *homed) list() map[string]held {
	l.mu.Lock()
	defer l.mu.Unlock()
	list := make(map[string]held, len(l.turns))
	for workflow, t := range l.turns {
		list[workflow] = t
	}
	return list
}

// prune forgets the turns that no longer hold their sessions, and returns the number of the
// others.
func (l *homed) prune(ctx context.Context, as func(owner string) Store) int {
	left := 0
	for workflow, t := range l.list() {
		isHeld, err := t.isHeld(ctx, as(t.Owner))
		if err != nil || isHeld { // a store that is away says nothing
			left++
			continue
		}
		l.mu.Lock()
		if l.turns[workflow] == t {
			delete(l.turns, workflow)
		}
		l.mu.Unlock()
	}
	return left
}

// leave tells the turns that the worker of a queue has ended, with their tools.
func (l *homed) leave(ctx context.Context, server workflows, queue string) {
	var group sync.WaitGroup
	defer group.Wait()
	for workflow, t := range l.list() {
		group.Go(func() {
			_ = server.Signal(ctx, workflow, homeSignal, endedHome{toTurn{t.Number}, queue}) // a turn that does not hear it learns of the end by its next tool call
		})
	}
}

// endedHome is the signal that a worker has ended.
type endedHome struct {
	toTurn
	Queue string `json:"queue"`
}
