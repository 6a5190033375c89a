package engine

import (
	"context"
	"sync"
	"time"
)

// inFlight has the effects that a worker runs, by turn and key. An effect's result is stored,
// and its activity only waits for it: while the server is away, it may forget the activity, and
// request the result again. The zero value is empty. inFlight is safe for concurrent use.
type inFlight struct {
	mu    sync.Mutex
	calls map[string]*call
	// unkept names the effects that were begun and have no stored result. They are few, because
	// storing is repeated until it succeeds.
	unkept map[string]bool
	group  sync.WaitGroup
	busy   int  // counts the activities that begin, or wait for, an effect
	ended  bool // no effect may begin
	// late ends some time after ends: then nothing waits for the store any more.
	late       context.Context
	cancelLate context.CancelFunc
}

// call is an effect that is under way. Its result may be read once it is done.
type call struct {
	cancel context.CancelCauseFunc
	done   chan struct{}
	result result
	err    error
}

// join returns the running call of a name. If there is none, join begins it with run, unless
// run is nil. The error is errEnds after end.
func (f *inFlight) join(ctx context.Context, name string, run func(context.Context) (result, error)) (*call, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if there := f.calls[name]; there != nil || run == nil {
		return there, nil
	}
	if f.ended {
		return nil, errEnds
	}
	ctx, cancel := context.WithCancelCause(ctx)
	begun := &call{cancel: cancel, done: make(chan struct{})}
	if f.calls == nil {
		f.calls = map[string]*call{}
	}
	f.calls[name] = begun
	f.group.Go(func() {
		defer cancel(nil)
		begun.result, begun.err = run(ctx)
		f.mu.Lock()
		delete(f.calls, name)
		f.mu.Unlock()
		close(begun.done)
	})
	return begun, nil
}

// enter counts an activity until leave is called.
func (f *inFlight) enter() (leave func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.busy++
	return func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.busy--
	}
}

// isIdle reports whether no effect is under way, and no activity needs one.
func (f *inFlight) isIdle() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.busy == 0 && len(f.calls) == 0
}

// begun records that the effect of a name is begun. The caller calls kept when the store has
// the result.
func (f *inFlight) begun(name string) (kept func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.unkept == nil {
		f.unkept = map[string]bool{}
	}
	f.unkept[name] = true
	return func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		delete(f.unkept, name)
	}
}

// isUnkept reports whether the effect of a name was begun here and has no stored result.
func (f *inFlight) isUnkept(name string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.unkept[name]
}

// over returns a context that ends some time after end, when nothing waits for the store any
// more.
func (f *inFlight) over() context.Context {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.late == nil {
		f.late, f.cancelLate = context.WithCancel(context.Background())
	}
	return f.late
}

// end cuts all calls, and waits for them, but not long for a store that is away. It may be
// called again.
func (f *inFlight) end() {
	f.over()
	f.mu.Lock()
	f.ended = true
	for _, c := range f.calls {
		c.cancel(errEnds)
	}
	f.mu.Unlock()
	timer := time.AfterFunc(giveBackTime, f.cancelLate)
	defer timer.Stop()
	f.group.Wait()
	f.cancelLate()
}
