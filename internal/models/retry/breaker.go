package retry

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/sony/gobreaker/v2"

	"github.com/massgen/massgen/backends"
)

// breaker keeps calls away from a service that is down. It opens after some
// failures in a row, lets one call through after a pause, and by that one's end
// closes or opens again. It is safe for concurrent use.
type breaker struct {
	provider string
	watch    *Watch // may be nil
	circuit  *gobreaker.TwoStepCircuitBreaker[struct{}]

	mu    sync.Mutex
	until time.Time // when it lets a call through again
	last  error     // the last failure
}

// newBreaker returns a breaker that opens after so many failures in a row, or never if
// failures is negative.
func newBreaker(provider string, failures int, pause time.Duration) *breaker {
	b := &breaker{provider: provider}
	b.circuit = gobreaker.NewTwoStepCircuitBreaker[struct{}](gobreaker.Settings{
		Name: provider,
		// A call passes after the time-out, not at it: until is exact this way.
		Timeout:      pause - 1,
		MaxRequests:  1,
		ReadyToTrip:  func(c gobreaker.Counts) bool { return failures > 0 && int(c.ConsecutiveFailures) >= failures },
		IsSuccessful: func(err error) bool { return !isOutage(err) },
		IsExcluded:   func(err error) bool { return errors.Is(err, errNoVerdict) },
		OnStateChange: func(_ string, _, to gobreaker.State) {
			if to == gobreaker.StateOpen {
				b.opened(time.Now().Add(pause))
				b.watch.opened(provider, pause, b.lastFailure())
			}
		},
	})
	return b
}

// errNoVerdict is the end of an attempt that says nothing about the service: its caller ended it, or this
// machine had no resources for it.
var errNoVerdict = errors.New("no verdict on the service")

// isOutage reports whether err means that the service is down. A service that refuses a
// request works.
func isOutage(err error) bool {
	if err == nil {
		return false
	}
	switch backends.KindOf(err) {
	case backends.KindOverloaded, backends.KindNetwork, backends.KindTimeout:
		return true
	}
	return false
}

// check refuses a call while the breaker is open.
func (b *breaker) check() error {
	if b.circuit.State() == gobreaker.StateOpen {
		return b.refusal(gobreaker.ErrOpenState)
	}
	return nil
}

// allow lets an attempt through, whose end goes to done, or refuses it.
func (b *breaker) allow() (done func(error), err error) {
	report, err := b.circuit.Allow()
	if err != nil {
		return nil, b.refusal(err)
	}
	return func(err error) {
		if isOutage(err) {
			b.failed(err)
		}
		report(err)
	}, nil
}

func (b *breaker) opened(until time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.until = until
}

func (b *breaker) lastFailure() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.last
}

func (b *breaker) failed(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.last = err
}

func (b *breaker) refusal(cause error) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	e := &backends.Error{Kind: backends.KindOverloaded, Provider: b.provider, Err: cause, Free: true}
	if errors.Is(cause, gobreaker.ErrOpenState) {
		e.RetryAfter = max(time.Until(b.until), 0)
		e.Message = fmt.Sprintf("not called until %s, since it failed too often; last: %v", b.until.Format(time.TimeOnly), b.last)
	} else {
		e.Message = fmt.Sprintf("not called while another call finds out whether it works again; last: %v", b.last)
	}
	return e
}
