package retry

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/internal/system/httpclient"
)

// The breaker of the zero Limits.
const (
	DefaultFailures = 10
	DefaultPause    = 30 * time.Second
)

// Limits are the limits of one provider and key. 0 means no limit, or the default of the
// breaker.
type Limits struct {
	// Concurrent is how many attempts may run at a time.
	Concurrent int
	// RequestsPerMinute and TokensPerMinute hold in each minute, wherever it begins.
	// Tokens count input and output: estimated before an attempt, as the provider counted
	// them after it. A request of more than a quarter of the limit may exceed it by the
	// difference.
	RequestsPerMinute int
	TokensPerMinute   int
	// Failures is how many attempts in a row have to fail until the breaker opens, because
	// the service was overloaded, could not be reached or was silent. With a negative
	// number it never opens.
	Failures int
	// Pause is how long the breaker stays open. Then one attempt shows whether the service
	// works again.
	Pause time.Duration
}

// Gate limits the attempts of all agents that use one provider with one key. It is safe
// for concurrent use.
type Gate struct {
	provider string
	limiter  Limiter
	breaker  *breaker
}

// NewGate returns a gate with a breaker of its own, by the Failures and Pause of l.
// The limiter enforces the limits of use; other gates may share it. provider is the
// name in the gate's errors.
func NewGate(provider string, l Limits, limiter Limiter) *Gate {
	if l.Failures == 0 {
		l.Failures = DefaultFailures
	}
	if l.Pause <= 0 {
		l.Pause = DefaultPause
	}
	return &Gate{provider: provider, limiter: limiter, breaker: newBreaker(provider, l.Failures, l.Pause)}
}

// Watched makes w get the openings of the gate's breaker, before the gate's first call. It returns the gate.
func (g *Gate) Watched(w *Watch) *Gate {
	w.broke(g.provider, 0)
	g.breaker.watch = w
	return g
}

// pass permits one attempt.
type pass struct {
	booked backends.Reservation
	done   func(error)
}

// enter waits until an attempt of so many tokens may run. The caller ends its pass with
// leave.
func (g *Gate) enter(ctx context.Context, tokens int) (pass, error) {
	if err := g.breaker.check(); err != nil {
		return pass{}, err
	}
	booked, err := g.limiter.Reserve(ctx, tokens)
	if err != nil {
		return pass{}, &backends.Error{
			Kind: backends.KindOf(err), Provider: g.provider, Err: err, Free: true,
			Message: fmt.Sprintf("%v while waiting for the limits of its use", err),
		}
	}
	done, err := g.breaker.allow()
	if err != nil {
		booked.Release()
		return pass{}, err
	}
	return pass{booked: booked, done: done}, nil
}

// leave ends an attempt with its error, or nil, and its usage, if that is known.
func (p pass) leave(ctx context.Context, err error, usage *backends.Usage) {
	p.booked.Settle(usage)
	if err != nil && (ctx.Err() != nil || errors.Is(err, errStopped) || httpclient.IsLocalFault(err)) {
		err = errNoVerdict
	}
	p.done(err)
}
