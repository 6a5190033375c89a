package retry

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/cenkalti/backoff/v5"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/internal/system/sleep"
)

// call is one call and its attempts. One goroutine uses it.
type call struct {
	*Backend
	ctx      context.Context
	req      backends.Request
	ceilings *backoff.ExponentialBackOff // of the waits, nil before the first
	yield    func(backends.Event, error) bool
	begun    bool             // whether an event that counts was yielded
	until    time.Time        // the latest time for another attempt; zero before the first
	sent     backends.Request // by the last attempt
	refitted bool             // whether the program's own output limit was lowered
	used     *backends.Usage  // of the last attempt that reported it
}

// newCeilings returns the ceilings of the waits, without jitter: the jitter of package
// backoff comes from a source that no test can replace.
func newCeilings() *backoff.ExponentialBackOff {
	return &backoff.ExponentialBackOff{
		InitialInterval: firstCeiling, RandomizationFactor: 0, Multiplier: 2, MaxInterval: longestCeiling,
	}
}

func (c *call) run() error {
	var last *backends.Error
	for number := 1; ; number++ {
		sent, err := c.once(last)
		failure, failed := errors.AsType[*backends.Error](err)
		if sent && failed && c.withoutOwnLimit(c.sent, failure) {
			last = failure
			number--
			continue
		}
		if !sent || !failed || !c.repeatable(failure) {
			return err
		}
		last = failure
		wait, err := c.plan(number, failure)
		if err != nil {
			return err
		}
		backends.TraceFrom(c.ctx).WillRetry(backends.RetryInfo{
			Key: c.req.Key, Attempt: number, MaxAttempts: c.options.MaxAttempts, Err: failure, Wait: wait,
		})
		over := c.options.Watch.retries(c.gate.provider, c.req, failure, wait)
		err = sleep.For(c.ctx, wait)
		over()
		if err != nil {
			return c.interrupted(failure, err)
		}
	}
}

// once makes one attempt, as soon as it can be paid for and the gate lets it through.
// last is the failure of the attempt before, or nil.
func (c *call) once(last *backends.Error) (sent bool, err error) {
	req, held, err := c.reserve()
	if err != nil {
		return false, c.unpaid(last, err)
	}
	req = c.fitted(req)
	c.sent = req
	p, err := c.enter(req, last)
	if err != nil {
		held.Release()
		return false, err
	}
	return true, c.attempt(req, p, held)
}

// unpaid returns the error of a call whose next attempt the budget refused.
func (c *call) unpaid(last *backends.Error, err error) error {
	switch {
	case last == nil:
		return err
	case c.ctx.Err() != nil:
		return c.interrupted(last, c.ctx.Err())
	}
	return afterwards(last, err)
}

// reserve reserves another attempt with the call's budget. It returns the request to send. Its
// output limit is lower than the call's if the budget has no room for more.
func (c *call) reserve() (req backends.Request, held backends.Reservation, err error) {
	budget := backends.BudgetFrom(c.ctx)
	if budget == nil {
		return c.req, unlimited{}, nil
	}
	most := c.options.Most(c.req)
	least := most
	if output := leastOutput(c.req.Params); output > 0 {
		least = c.options.Most(limited(c.req, output))
	}
	over := c.options.Watch.holds(c.ctx, c.gate.provider, c.req.Key, forBudget)
	held, less, err := budget.Reserve(c.ctx, most, least)
	over(err)
	if err != nil || less == 0 {
		return c.req, held, err
	}
	return limited(c.req, *c.req.Params.MaxTokens-less), held, nil
}

// The fewest output tokens to which a budget shortens a call. A model that reasons needs some
// before it says anything.
const (
	leastTokens          = 256
	leastReasoningTokens = 4096
)

// leastOutput is the lowest limit to which a call's output may be shortened, 0 if it cannot be.
func leastOutput(p backends.Params) int {
	least := leastTokens
	if p.Reasons() {
		least = leastReasoningTokens
	}
	if p.MaxTokens == nil || *p.MaxTokens <= least {
		return 0
	}
	return least
}

// limited returns req with output tokens at most.
func limited(req backends.Request, output int) backends.Request {
	req.Params.MaxTokens = &output
	return req
}

// unlimited is the reservation of a call without a budget.
type unlimited struct{}

func (unlimited) Release()               {}
func (unlimited) Settle(*backends.Usage) {}

// enter waits at the gate. A repetition waits until c.until at most. last is the failure
// of the attempt before, or nil.
func (c *call) enter(req backends.Request, last *backends.Error) (pass, error) {
	tokens := estimate(req)
	if last == nil {
		over := c.options.Watch.holds(c.ctx, c.gate.provider, req.Key, forLimit)
		p, err := c.gate.enter(c.ctx, tokens)
		over(nil)
		c.until = time.Now().Add(c.options.MaxTime)
		return p, err
	}
	ctx, cancel := context.WithDeadline(c.ctx, c.until)
	defer cancel()
	over := c.options.Watch.holds(ctx, c.gate.provider, req.Key, forLimit)
	p, err := c.gate.enter(ctx, tokens)
	over(nil)
	switch {
	case err == nil:
		return p, nil
	case c.ctx.Err() != nil:
		return pass{}, c.interrupted(last, c.ctx.Err())
	case ctx.Err() != nil:
		return pass{}, givenUp(last, "the limits of its use left no time for another attempt")
	}
	return pass{}, afterwards(last, err)
}

// afterwards returns the error that refused another attempt, marked as billed if the last
// attempt may have been.
func afterwards(last *backends.Error, err error) error {
	var refusal *backends.Error
	if errors.As(err, &refusal) {
		refusal.Free, refusal.Unsent = last.Unbilled(), false
	}
	return err
}

// attempt sends the request once.
func (c *call) attempt(req backends.Request, p pass, held backends.Reservation) error {
	var usage *backends.Usage
	ended := errStopped // also if the inner backend or the reader panics
	defer func() {
		p.leave(c.ctx, ended, usage)
		if usage != nil {
			c.used = usage
		}
		settle(held, usage, ended)
	}()
	for ev, err := range c.inner.Stream(c.ctx, req) {
		if err != nil {
			ended = err
			return err
		}
		c.begun = c.begun || counts(ev)
		if u, ok := ev.(backends.Usage); ok {
			usage = &u
		}
		if !c.yield(ev, nil) {
			return errStopped
		}
	}
	ended = nil
	return nil
}

// counts reports whether an event is a part of the answer. A piece of a tool call is none: people only watch it, and
// another attempt may replace it.
func counts(ev backends.Event) bool {
	_, isPiece := ev.(backends.ToolCallDelta)
	return !isPiece
}

// settle ends a reservation. An attempt that failed after it reported a usage may cost more than
// that.
func settle(held backends.Reservation, usage *backends.Usage, err error) {
	failure, failed := errors.AsType[*backends.Error](err)
	switch {
	case err == nil:
		held.Settle(usage)
	case failed && failure.Unbilled():
		held.Release()
	default:
		held.Settle(nil)
	}
}

// repeatable reports whether the same request may succeed later and was not paid for.
func (c *call) repeatable(failure *backends.Error) bool {
	return failure.Retryable() && !failure.Begun && !c.begun && c.ctx.Err() == nil
}

// plan returns how long to wait after a failed attempt, or the failure and why
// there is no other.
func (c *call) plan(number int, failure *backends.Error) (time.Duration, error) {
	if c.options.MaxAttempts == 1 {
		return 0, failure
	}
	if number >= c.options.MaxAttempts {
		return 0, givenUp(failure, fmt.Sprintf("%d attempts were made", number))
	}
	if c.ceilings == nil {
		c.ceilings = newCeilings()
	}
	jitter := time.Duration(c.options.Random() * float64(c.ceilings.NextBackOff()))
	wait := failure.RetryAfter + jitter
	if left := c.timeLeft(); wait >= left {
		return 0, givenUp(failure, fmt.Sprintf("the next attempt could be made in %s, and only %s are left", rounded(wait), rounded(left)))
	}
	return wait, nil
}

type timeLeftKey struct{}

// WithTimeLeft returns a context for a call whose end moves: left returns how much time is left
// now, if it is limited. The call begins no longer wait. Left may be called concurrently.
func WithTimeLeft(ctx context.Context, left func() (left time.Duration, limited bool)) context.Context {
	return context.WithValue(ctx, timeLeftKey{}, left)
}

func (c *call) timeLeft() time.Duration {
	left := time.Until(c.until)
	if deadline, ok := c.ctx.Deadline(); ok {
		left = min(left, time.Until(deadline))
	}
	if outside, ok := c.ctx.Value(timeLeftKey{}).(func() (time.Duration, bool)); ok {
		if all, limited := outside(); limited {
			left = min(left, all)
		}
	}
	return max(left, 0)
}

func rounded(d time.Duration) time.Duration { return d.Round(100 * time.Millisecond) }

// givenUp returns the failure with the reason why it is the last one.
func givenUp(failure *backends.Error, why string) error {
	out := *failure
	out.Message = strings.TrimSpace(out.Message + " (gave up: " + why + ")")
	return &out
}

// interrupted returns the error of a call whose context ended between two attempts.
func (c *call) interrupted(last *backends.Error, err error) error {
	return &backends.Error{
		Kind: backends.KindOf(err), Provider: last.Provider, Err: err, Free: last.Unbilled(),
		Message: fmt.Sprintf("%v before the call was repeated, which had failed: %v", err, last),
	}
}
