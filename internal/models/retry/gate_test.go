package retry_test

import (
	"context"
	"net"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/internal/models/retry"
)

// together makes n calls at once and returns their errors, nil for success.
func together(t *testing.T, b backends.Backend, n int) []*backends.Error {
	t.Helper()
	errs := make([]*backends.Error, n)
	var wg sync.WaitGroup
	for i := range errs {
		wg.Go(func() { _, errs[i] = call(t.Context(), t, b) })
	}
	wg.Wait()
	return errs
}

// newGate returns a gate that shares its limits with no other.
func newGate(provider string, l retry.Limits) *retry.Gate {
	return retry.NewGate(provider, l, retry.NewLimiter(l))
}

func once(inner backends.Backend, g *retry.Gate) *retry.Backend {
	return retry.New(inner, g, retry.Options{MaxAttempts: 1})
}

func TestConcurrent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inner := &script{outcomes: []outcome{{takes: 10 * time.Second, text: "x"}}}
		start := time.Now()
		together(t, once(inner, newGate("script", retry.Limits{Concurrent: 3})), 7)
		if took := time.Since(start); inner.most != 3 || took != 30*time.Second {
			t.Errorf("%d at a time, in %s", inner.most, took)
		}
	})
}

// TestAttemptLeavesItsPlaceWhileItWaits: others may run between two attempts.
func TestAttemptLeavesItsPlaceWhileItWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inner := &script{outcomes: []outcome{failing(backends.KindOverloaded), {takes: time.Second / 2, text: "x"}}}
		b := retry.New(inner, newGate("script", retry.Limits{Concurrent: 1}), retry.Options{Random: fixed(1)})
		start := time.Now()
		together(t, b, 2)
		if took := time.Since(start); took != 1500*time.Millisecond {
			t.Errorf("it took %s", took)
		}
	})
}

func TestRequestsPerMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inner := &script{outcomes: []outcome{well()}}
		start := time.Now()
		together(t, once(inner, newGate("script", retry.Limits{RequestsPerMinute: 8})), 9)
		var got []time.Duration
		for _, at := range inner.starts {
			got = append(got, at.Sub(start).Round(time.Millisecond))
		}
		s := time.Second
		want := []time.Duration{0, 0, 8571 * s / 1000, 17143 * s / 1000, 25714 * s / 1000, 34286 * s / 1000, 42857 * s / 1000, 51429 * s / 1000, 60 * s}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("the attempts began at (-want +got):\n%s", diff)
		}
	})
}

// TestTokensAreSettled: what was booked too much is given back, what was booked too
// little is a debt of those that follow. The bucket of 120 holds 30, and 91 flow
// into it in a minute; the second attempt takes 28.
func TestTokensAreSettled(t *testing.T) {
	for name, c := range map[string]struct {
		max     int
		usage   *backends.Usage
		missing time.Duration
	}{
		"more than booked":   {17, &backends.Usage{InputTokens: 4, OutputTokens: 25}, 27},
		"less than booked":   {17, &backends.Usage{InputTokens: 1, OutputTokens: 1}, 0},
		"a debt":             {0, &backends.Usage{InputTokens: 20, OutputTokens: 40}, 58},
		"usage is not known": {17, nil, 26},
		"larger than all":    {89, nil, 98},
	} {
		synctest.Test(t, func(t *testing.T) {
			inner := &script{outcomes: []outcome{{text: "x", usage: c.usage}}}
			b := once(inner, newGate("script", retry.Limits{TokensPerMinute: 120}))
			for _, most := range []int{c.max, 17} {
				req := request() // of eleven tokens
				req.Params.MaxTokens = &most
				if _, err := backends.Collect(b.Stream(t.Context(), req), nil); err != nil {
					t.Fatal(err)
				}
			}
			want := (c.missing * time.Minute / 91).Round(time.Millisecond)
			if got := inner.waits()[0].Round(time.Millisecond); got != want {
				t.Errorf("%s: the second attempt waited %s, want %s", name, got, want)
			}
		})
	}
}

// TestFirstComeFirstServed: small requests do not overtake a large one for ever.
func TestFirstComeFirstServed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inner := &script{outcomes: []outcome{well()}}
		b := once(inner, newGate("script", retry.Limits{TokensPerMinute: 120}))
		var order []int
		var wg sync.WaitGroup
		for _, most := range []int{20, 25, 1} {
			wg.Go(func() {
				req := request()
				req.Params.MaxTokens = &most
				for range b.Stream(t.Context(), req) {
					order = append(order, most)
					break
				}
			})
			synctest.Wait()
		}
		wg.Wait()
		if diff := cmp.Diff([]int{20, 25, 1}, order); diff != "" {
			t.Errorf("the order differs (-want +got):\n%s", diff)
		}
	})
}

func TestGateObeysContext(t *testing.T) {
	for name, l := range map[string]retry.Limits{
		"place":    {Concurrent: 1},
		"requests": {RequestsPerMinute: 1},
		"tokens":   {TokensPerMinute: 15},
	} {
		synctest.Test(t, func(t *testing.T) {
			inner := &script{outcomes: []outcome{{takes: time.Hour, text: "x"}, well()}}
			b := once(inner, newGate("gate", l))
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(time.Second, cancel)
			errs := make([]*backends.Error, 3)
			var wg sync.WaitGroup
			for i := range errs {
				wg.Go(func() { _, errs[i] = call(ctx, t, b) })
				synctest.Wait()
			}
			wg.Wait()
			for _, e := range errs[1:] {
				if e == nil || e.Kind != backends.KindCancelled || e.Provider != "gate" || !e.Unbilled() || !strings.HasPrefix(e.Message, "context canceled while waiting for ") {
					t.Errorf("%s: %+v", name, e)
				}
			}
			if len(inner.starts) != 1 {
				t.Errorf("%s: %d attempts", name, len(inner.starts))
			}
			time.Sleep(time.Minute)
			start := time.Now()
			if _, e := call(t.Context(), t, b); e != nil || time.Since(start) > 0 {
				t.Errorf("%s: those that left hold up the next by %s, %v", name, time.Since(start), e)
			}
		})
	}
}

func TestBreaker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		outcomes := []outcome{well()}
		for range 4 {
			outcomes = append(outcomes, failing(backends.KindOverloaded))
		}
		inner := &script{outcomes: append(outcomes, well())}
		b := once(inner, newGate("gate", retry.Limits{Failures: 3, Pause: 20 * time.Second}))
		step := func(what string, attempts int, kind backends.Kind, message string, after time.Duration) {
			t.Helper()
			_, e := call(t.Context(), t, b)
			if e == nil {
				e = &backends.Error{}
			}
			if len(inner.starts) != attempts || e.Kind != kind || !strings.Contains(e.Message, message) || e.RetryAfter != after {
				t.Errorf("%s: %d attempts, %+v", what, len(inner.starts), e)
			}
		}
		s := time.Second
		open := "not called until " + time.Now().Add(20*s).Format(time.TimeOnly) + ", since it failed too often; last: script: overloaded: no luck"
		step("before", 1, "", "", 0)
		step("first", 2, backends.KindOverloaded, "no luck", 0)
		step("second", 3, backends.KindOverloaded, "no luck", 0)
		step("third", 4, backends.KindOverloaded, "no luck", 0)
		step("open", 4, backends.KindOverloaded, open, 20*s)
		time.Sleep(19 * s)
		step("still open", 4, backends.KindOverloaded, open, s)
		time.Sleep(s)
		step("half open, and down", 5, backends.KindOverloaded, "no luck", 0)
		step("open again", 5, backends.KindOverloaded, "not called until", 20*s)
		time.Sleep(20 * s)
		step("half open, and up", 6, "", "", 0)
		step("closed", 7, "", "", 0)
	})
}

func TestOutages(t *testing.T) {
	for _, kind := range []backends.Kind{backends.KindOverloaded, backends.KindNetwork, backends.KindTimeout} {
		synctest.Test(t, func(t *testing.T) {
			inner := &script{outcomes: []outcome{failing(kind)}}
			b := once(inner, newGate("gate", retry.Limits{Failures: 1}))
			together(t, b, 1)
			if errs := together(t, b, 1); len(inner.starts) != 1 || errs[0] == nil || !errs[0].Unbilled() {
				t.Errorf("%s: %d attempts, %v", kind, len(inner.starts), errs)
			}
		})
	}
}

// TestTrial: after the pause one call tries, and the others are turned away.
func TestTrial(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inner := &script{outcomes: []outcome{failing(backends.KindNetwork), {takes: time.Second, text: "x"}}}
		b := once(inner, newGate("gate", retry.Limits{Failures: 1}))
		together(t, b, 1)
		time.Sleep(retry.DefaultPause)
		refused := 0
		for _, e := range together(t, b, 3) {
			if e != nil && strings.Contains(e.Message, "another call finds out") {
				refused++
			}
		}
		if refused != 2 || len(inner.starts) != 2 {
			t.Errorf("%d refused, %d attempts", refused, len(inner.starts))
		}
	})
}

// TestBreakerEndsRetries: what others found out is not tried again.
func TestBreakerEndsRetries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inner := &script{outcomes: []outcome{failing(backends.KindNetwork)}}
		gate := newGate("gate", retry.Limits{Failures: 2})
		_, e := call(t.Context(), t, retry.New(inner, gate, retry.Options{}))
		if len(inner.starts) != 2 || e == nil || e.Kind != backends.KindOverloaded || !strings.Contains(e.Message, "script: network: no luck") {
			t.Errorf("%d attempts, %+v", len(inner.starts), e)
		}
	})
}

// TestLocalFaultsOpenNoBreaker: running out of file descriptors says nothing about the service, neither that
// it is down nor that it works again.
func TestLocalFaultsOpenNoBreaker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		full := &backends.Error{Kind: backends.KindNetwork, Message: "socket: too many open files", Err: &net.OpError{Op: "dial", Err: syscall.EMFILE}}
		local, down := outcome{err: full}, failing(backends.KindNetwork)
		inner := &script{outcomes: []outcome{local, local, local, down, local, down, local}}
		b := once(inner, newGate("gate", retry.Limits{Failures: 2}))
		for range 6 {
			call(t.Context(), t, b)
		}
		if len(inner.starts) != 6 {
			t.Errorf("%d attempts before the breaker opened, want 6", len(inner.starts))
		}
		if _, e := call(t.Context(), t, b); len(inner.starts) != 6 || e == nil || e.Kind != backends.KindOverloaded {
			t.Errorf("two failures of the service did not open it: %+v", e)
		}
	})
}

// TestRefusedCallsTakeNothing: one that the breaker refused after it had waited for
// its limits does not hold up the next.
func TestRefusedCallsTakeNothing(t *testing.T) {
	for name, l := range map[string]retry.Limits{"requests": {RequestsPerMinute: 1}, "tokens": {TokensPerMinute: 12}} {
		synctest.Test(t, func(t *testing.T) {
			l.Failures, l.Pause = 1, 110*time.Second
			inner := &script{outcomes: []outcome{{takes: time.Second, err: failure(backends.KindNetwork)}, well()}}
			b := once(inner, newGate("gate", l))
			together(t, b, 2)
			start := time.Now()
			time.Sleep(time.Second + l.Pause - start.Sub(inner.starts[0]))
			if _, e := call(t.Context(), t, b); e != nil || len(inner.starts) != 2 || inner.waits()[0] != time.Second+l.Pause {
				t.Errorf("%s: %d attempts, waits %s, %v", name, len(inner.starts), inner.waits(), e)
			}
		})
	}
}

// TestNoVerdict: what the caller ends, and what a service refuses, opens nothing.
func TestNoVerdict(t *testing.T) {
	for name, o := range map[string]outcome{
		"refused":   failing(backends.KindBadRequest),
		"limited":   failing(backends.KindRateLimit),
		"auth":      failing(backends.KindAuth),
		"cancelled": {takes: time.Hour},
		"left":      {text: "x", err: failure(backends.KindNetwork)},
	} {
		synctest.Test(t, func(t *testing.T) {
			inner := &script{outcomes: []outcome{o}}
			b := once(inner, newGate("gate", retry.Limits{Failures: 1}))
			for range 5 {
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				for range b.Stream(ctx, request()) {
					break
				}
				cancel()
			}
			if len(inner.starts) != 5 {
				t.Errorf("%s: %d attempts", name, len(inner.starts))
			}
		})
	}
}

// TestPanicLeavesTheGate: a place is not lost.
func TestPanicLeavesTheGate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inner := &script{outcomes: []outcome{well()}}
		b := once(inner, newGate("gate", retry.Limits{Concurrent: 1}))
		func() {
			defer func() {
				if recover() == nil {
					t.Error("the panic was lost")
				}
			}()
			for range b.Stream(t.Context(), request()) {
				panic("reader")
			}
		}()
		if _, e := call(t.Context(), t, b); e != nil {
			t.Error(e)
		}
	})
}
