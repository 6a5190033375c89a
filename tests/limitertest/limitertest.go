// Package limitertest is the suite that every retry.Limiter passes.
package limitertest

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/internal/models/retry"
)

// Suite is a kind of limiter as the tests see it.
type Suite struct {
	// Open returns the limiters that two processes have of one account, with which
	// nothing is booked. A minute of their limits lasts for so long, unless the kind has
	// a clock of its own.
	Open func(t *testing.T, l retry.Limits, minute time.Duration) [2]retry.Limiter
	// Booked returns when an attempt was booked that has not ended, by the clock of the
	// limits.
	Booked func(t *testing.T, r backends.Reservation) time.Time
	// Short is a minute that passes in a test, Long one that does not.
	Short, Long time.Duration
	// Seeds is how many random runs there are.
	Seeds uint64
	// In runs a test where the clock of the limits goes. Nil means the test itself.
	In func(t *testing.T, test func(t *testing.T))
}

// Run runs the suite, several of its tests at once.
func Run(t *testing.T, s Suite) {
	for name, test := range map[string]func(t *testing.T, s Suite){
		"WindowsHold":    windowsHold,
		"Release":        release,
		"Settle":         settle,
		"NoLimit":        noLimit,
		"CancelledWaits": cancelledWaits,
		"LargeOnesPass":  largeOnesPass,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, s)
		})
	}
}

// in opens limiters where their clock goes.
func (s Suite) in(t *testing.T, l retry.Limits, minute time.Duration, test func(t *testing.T, of [2]retry.Limiter)) {
	t.Helper()
	inside := func(t *testing.T) { test(t, s.Open(t, l, minute)) }
	if s.In == nil {
		inside(t)
		return
	}
	s.In(t, inside)
}

func reserve(t *testing.T, l retry.Limiter, tokens int) backends.Reservation {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	r, err := l.Reserve(ctx, tokens)
	if err != nil {
		t.Fatalf("%d tokens are not booked: %v", tokens, err)
	}
	return r
}

// waits wants that an attempt may not run yet.
func waits(t *testing.T, l retry.Limiter, tokens int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	switch r, err := l.Reserve(ctx, tokens); {
	case err == nil:
		r.Release()
		t.Errorf("%d tokens are booked at once", tokens)
	case !errors.Is(err, context.DeadlineExceeded):
		t.Errorf("the wait ended with %v, not with its context", err)
	}
}

// tight are limits of one kind each that one attempt of 30 tokens uses up.
func tight() map[string]retry.Limits {
	return map[string]retry.Limits{
		"place":    {Concurrent: 1},
		"requests": {RequestsPerMinute: 4},
		"tokens":   {TokensPerMinute: 120},
		"all":      {Concurrent: 1, RequestsPerMinute: 4, TokensPerMinute: 120},
	}
}

// release gives back all that was booked, whichever process has booked it.
func release(t *testing.T, s Suite) {
	for name, l := range tight() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s.in(t, l, s.Long, func(t *testing.T, of [2]retry.Limiter) {
				r := reserve(t, of[0], 30)
				waits(t, of[0], 30)
				waits(t, of[1], 30)
				r.Release()
				r = reserve(t, of[1], 30)
				waits(t, of[0], 30)
				r.Release()
				reserve(t, of[0], 30).Release()
			})
		})
	}
}

// settle books what an attempt took instead of what was booked. The bucket of 120 holds
// 30.
func settle(t *testing.T, s Suite) {
	used := func(n int) *backends.Usage { return &backends.Usage{InputTokens: n / 2, OutputTokens: n - n/2} }
	for name, c := range map[string]struct {
		booked int
		usage  *backends.Usage
		left   int
	}{
		"less than booked": {30, used(2), 28},
		"more than booked": {10, used(25), 5},
		"a debt":           {10, used(60), 0},
		"not known":        {25, nil, 5},
		"larger than all":  {100, used(100), 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s.in(t, retry.Limits{TokensPerMinute: 120}, s.Long, func(t *testing.T, of [2]retry.Limiter) {
				reserve(t, of[0], c.booked).Settle(c.usage)
				if c.left > 0 {
					reserve(t, of[1], c.left).Settle(nil)
				}
				waits(t, of[0], 2)
				waits(t, of[1], 2)
			})
		})
	}
	t.Run("place", func(t *testing.T) {
		t.Parallel()
		s.in(t, retry.Limits{Concurrent: 1}, s.Long, func(t *testing.T, of [2]retry.Limiter) {
			for i := range 4 {
				r := reserve(t, of[i%2], 30)
				waits(t, of[(i+1)%2], 30)
				r.Settle(used(30))
			}
		})
	})
	t.Run("requests", func(t *testing.T) {
		t.Parallel()
		s.in(t, retry.Limits{RequestsPerMinute: 4}, s.Long, func(t *testing.T, of [2]retry.Limiter) {
			reserve(t, of[0], 30).Settle(used(0))
			waits(t, of[1], 30)
		})
	})
}

// noLimit of a kind lets any number through.
func noLimit(t *testing.T, s Suite) {
	s.in(t, retry.Limits{RequestsPerMinute: 400}, s.Long, func(t *testing.T, of [2]retry.Limiter) {
		for i := range 20 {
			reserve(t, of[i%2], 1_000_000)
		}
	})
}

// cancelledWaits leave nothing behind that holds up others.
func cancelledWaits(t *testing.T, s Suite) {
	for name, l := range tight() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s.in(t, l, s.Long, func(t *testing.T, of [2]retry.Limiter) {
				r := reserve(t, of[0], 30)
				ctx, cancel := context.WithCancel(t.Context())
				const all = 4
				ends := make(chan error, all)
				for i := range all {
					go func() {
						_, err := of[i%2].Reserve(ctx, 30)
						ends <- err
					}()
				}
				waits(t, of[1], 30)
				cancel()
				for range all {
					if err := <-ends; !errors.Is(err, context.Canceled) {
						t.Errorf("a wait ended with %v", err)
					}
				}
				r.Release()
				reserve(t, of[1], 30).Release()
			})
		})
	}
}

// largeOnesPass: small attempts of another process do not hold up a large one for ever.
func largeOnesPass(t *testing.T, s Suite) {
	const most = 400 // tokens of more than three minutes
	s.in(t, retry.Limits{TokensPerMinute: 120}, s.Short, func(t *testing.T, of [2]retry.Limiter) {
		reserve(t, of[0], 30).Settle(nil)
		passed := make(chan error, 1)
		go func() {
			r, err := of[0].Reserve(t.Context(), 30)
			if err == nil {
				r.Settle(nil)
			}
			passed <- err
		}()
		small := 0
		for ; small < most && len(passed) == 0; small++ {
			reserve(t, of[1], 1).Settle(nil)
		}
		if small == most {
			t.Errorf("%d small attempts passed, and the large one waits", small)
		}
		if err := <-passed; err != nil {
			t.Error(err)
		}
	})
}
