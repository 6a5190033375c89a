package retry

import (
	"context"
	"time"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/internal/system/sleep"
)

// Limiter keeps the limits of use of one provider and key: of this process
// (NewLimiter), or of several that share a database. It is safe for concurrent use.
type Limiter interface {
	// Reserve waits until an attempt of so many tokens is within the limits, and books
	// it. If ctx ends before, it returns the error of ctx. A Limiter that cannot reach its
	// database waits too; one that never will returns why.
	//
	// The caller ends the Reservation: by Release if nothing was sent, else by Settle
	// after the attempt. Settle books the tokens of the usage in place of the estimate, or
	// keeps the estimate if the usage is nil.
	Reserve(ctx context.Context, tokens int) (backends.Reservation, error)
}

// Any reports whether l limits the use.
func (l Limits) Any() bool {
	return l.Concurrent > 0 || l.RequestsPerMinute > 0 || l.TokensPerMinute > 0
}

// NewLimiter returns a Limiter of this process, with nothing booked. It serves attempts
// in the order in which they come.
func NewLimiter(l Limits) Limiter {
	m := &memory{
		turn:     make(chan struct{}, 1),
		requests: newPerMinute(l.RequestsPerMinute),
		tokens:   newPerMinute(l.TokensPerMinute),
	}
	if l.Concurrent > 0 {
		m.slots = make(chan struct{}, l.Concurrent)
	}
	return m
}

// memory is the Limiter of one process.
type memory struct {
	// slots holds one element for each attempt that runs; nil without a limit.
	slots chan struct{}
	// turn is held by the one attempt that waits for its requests and tokens.
	turn     chan struct{}
	requests *perMinute
	tokens   *perMinute
}

func (m *memory) Reserve(ctx context.Context, tokens int) (backends.Reservation, error) {
	if err := acquire(ctx, m.slots); err != nil {
		return nil, err
	}
	if err := m.spend(ctx, tokens); err != nil {
		release(m.slots)
		return nil, err
	}
	return booking{m, tokens}, nil
}

// spend waits until a request of so many tokens is within the limits, and books it.
func (m *memory) spend(ctx context.Context, tokens int) error {
	if m.requests == nil && m.tokens == nil {
		return nil
	}
	if err := acquire(ctx, m.turn); err != nil {
		return err
	}
	defer release(m.turn)
	for {
		now := time.Now()
		wait := max(m.requests.delay(now, 1), m.tokens.delay(now, tokens))
		if wait <= 0 {
			m.requests.spend(now, 1)
			m.tokens.spend(now, tokens)
			return nil
		}
		if err := sleep.For(ctx, wait); err != nil {
			return err
		}
	}
}

// booking is what a memory has booked for one attempt.
type booking struct {
	*memory
	booked int
}

func (b booking) Release() {
	now := time.Now()
	b.requests.spend(now, -1)
	b.tokens.spend(now, -b.booked)
	release(b.slots)
}

func (b booking) Settle(usage *backends.Usage) {
	if usage != nil {
		b.tokens.spend(time.Now(), usage.InputTokens+usage.OutputTokens-b.booked)
	}
	release(b.slots)
}

// acquire takes one of the places of c. A nil c has any number.
func acquire(ctx context.Context, c chan struct{}) error {
	if c == nil {
		return nil
	}
	select {
	case c <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func release(c chan struct{}) {
	if c != nil {
		<-c
	}
}
