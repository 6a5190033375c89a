package engine

import (
	"context"
	"sync"
)

// batches joins requests: those that come while one is answered are answered together after it. It
// is safe for concurrent use.
type batches[In, Out any] struct {
	// answer answers requests, in their order, or fails for all of them.
	answer func([]In) ([]Out, error)

	mu      sync.Mutex
	waiting []*asked[In, Out]
	runs    bool
}

// asked is a request, and its answer once done is closed.
type asked[In, Out any] struct {
	in   In
	out  Out
	err  error
	done chan struct{}
}

// ask returns the answer to a request, or the end of ctx.
func (b *batches[In, Out]) ask(ctx context.Context, in In) (out Out, err error) {
	a := &asked[In, Out]{in: in, done: make(chan struct{})}
	b.mu.Lock()
	b.waiting = append(b.waiting, a)
	if !b.runs {
		b.runs = true
		go b.run()
	}
	b.mu.Unlock()
	select {
	case <-a.done:
		return a.out, a.err
	case <-ctx.Done():
		return out, ctx.Err()
	}
}

// run answers until nothing waits.
func (b *batches[In, Out]) run() {
	for {
		b.mu.Lock()
		list := b.waiting
		b.waiting = nil
		b.runs = len(list) > 0
		b.mu.Unlock()
		if len(list) == 0 {
			return
		}
		in := make([]In, len(list))
		for i, a := range list {
			in[i] = a.in
		}
		out, err := b.answer(in)
		for i, a := range list {
			if a.err = err; err == nil {
				a.out = out[i]
			}
			close(a.done)
		}
	}
}
