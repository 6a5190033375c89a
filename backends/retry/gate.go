package retry

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/massgen/massgen/backends"
)

// The breaker of a Limits that sets none.
const (
	DefaultFailures = 10
	DefaultPause    = 30 * time.Second
)

// Limits are those of one provider and key. A number that is 0 is no limit, or for
// the breaker its default.
type Limits struct {
	// Concurrent is how many attempts may run at a time.
	Concurrent int
	// RequestsPerMinute and TokensPerMinute hold in each minute, wherever it begins.
	// Tokens are those of input and output: estimated before an attempt, as the
	// provider counted them after it. A request of more than a quarter of them may go
	// over the limit by the difference.
	RequestsPerMinute int
	TokensPerMinute   int
	// Failures is how many attempts in a row have to fail, because the service was
	// overloaded, could not be reached or was silent, until no more are made. A
	// negative number means that this never happens.
	Failures int
	// Pause is how long no attempt is made then. After it one is, and shows whether
	// the service works again.
	Pause time.Duration
}

// Gate is what all agents share that use one provider with one key. It is safe for
// concurrent use.
type Gate struct {
	provider string
	// slots holds one element for each attempt that runs; nil without a limit.
	slots chan struct{}
	// turn is held by the one attempt that waits for its requests and tokens, so that
	// whoever comes first is served first.
	turn     chan struct{}
	requests *perMinute
	tokens   *perMinute
	breaker  *breaker
}

// NewGate returns a gate through which nothing has passed. provider is the name
// that its errors carry.
func NewGate(provider string, l Limits) *Gate {
	if l.Failures == 0 {
		l.Failures = DefaultFailures
	}
	if l.Pause <= 0 {
		l.Pause = DefaultPause
	}
	g := &Gate{
		provider: provider,
		turn:     make(chan struct{}, 1),
		requests: newPerMinute(l.RequestsPerMinute),
		tokens:   newPerMinute(l.TokensPerMinute),
		breaker:  newBreaker(provider, l.Failures, l.Pause),
	}
	if l.Concurrent > 0 {
		g.slots = make(chan struct{}, l.Concurrent)
	}
	return g
}

// pass is the leave of one attempt to run.
type pass struct {
	gate   *Gate
	tokens int // what was booked for it
	done   func(error)
}

// enter waits until an attempt of so many tokens may run. Whoever gets a pass gives
// it back.
func (g *Gate) enter(ctx context.Context, tokens int) (*pass, error) {
	if err := g.breaker.check(); err != nil {
		return nil, err
	}
	if err := acquire(ctx, g.slots); err != nil {
		return nil, g.waitedFor("a free place", err)
	}
	if err := g.spend(ctx, tokens); err != nil {
		release(g.slots)
		return nil, g.waitedFor("its limits per minute", err)
	}
	done, err := g.breaker.allow()
	if err != nil {
		g.requests.spend(time.Now(), -1)
		g.tokens.spend(time.Now(), -tokens)
		release(g.slots)
		return nil, err
	}
	return &pass{gate: g, tokens: tokens, done: done}, nil
}

// spend waits until a request of so many tokens is within the limits, and books it.
func (g *Gate) spend(ctx context.Context, tokens int) error {
	if g.requests == nil && g.tokens == nil {
		return nil
	}
	if err := acquire(ctx, g.turn); err != nil {
		return err
	}
	defer release(g.turn)
	for {
		now := time.Now()
		wait := max(g.requests.delay(now, 1), g.tokens.delay(now, tokens))
		if wait <= 0 {
			g.requests.spend(now, 1)
			g.tokens.spend(now, tokens)
			return nil
		}
		if err := sleep(ctx, wait); err != nil {
			return err
		}
	}
}

// leave ends an attempt with its error, or nil, and its usage, if that is known.
func (p *pass) leave(ctx context.Context, err error, usage *backends.Usage) {
	if usage != nil {
		p.gate.tokens.spend(time.Now(), usage.InputTokens+usage.OutputTokens-p.tokens)
	}
	if err != nil && (ctx.Err() != nil || errors.Is(err, errStopped)) {
		err = errNoVerdict
	}
	p.done(err)
	release(p.gate.slots)
}

func (g *Gate) waitedFor(what string, err error) error {
	return &backends.Error{
		Kind: backends.KindOf(err), Provider: g.provider, Err: err, Free: true,
		Message: fmt.Sprintf("%v while waiting for %s", err, what),
	}
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
