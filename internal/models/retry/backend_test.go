package retry_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/backends/openai"
	"github.com/massgen/massgen/internal/models/retry"
	"github.com/massgen/massgen/tests/backendtest"
)

// TestConformance: with one attempt, nothing is different from the backend inside.
func TestConformance(t *testing.T) {
	t.Parallel()
	limits := retry.Limits{Concurrent: 2, RequestsPerMinute: 10_000, TokensPerMinute: 10_000_000}
	backendtest.Run(t, backendtest.Around(backendtest.ChatCompletions(), openai.New, func(inner *openai.Backend) backends.Backend {
		return retry.New(inner, newGate("local", limits), retry.Options{MaxAttempts: 1})
	}))
}

// fixed returns the same number for each wait.
func fixed(x float64) func() float64 { return func() float64 { return x } }

func TestWaits(t *testing.T) {
	asked := failure(backends.KindRateLimit)
	asked.RetryAfter = 7 * time.Second
	s := time.Second
	for name, c := range map[string]struct {
		outcomes []outcome
		options  retry.Options
		want     []time.Duration
	}{
		"the ceilings double":              {[]outcome{failing(backends.KindOverloaded)}, retry.Options{MaxAttempts: 8, Random: fixed(1)}, []time.Duration{s, 2 * s, 4 * s, 8 * s, 16 * s, 30 * s, 30 * s}},
		"a quarter of the ceilings":        {[]outcome{failing(backends.KindNetwork)}, retry.Options{Random: fixed(.25)}, []time.Duration{s / 4, s / 2, s}},
		"no jitter":                        {[]outcome{failing(backends.KindTimeout)}, retry.Options{Random: fixed(0)}, []time.Duration{0, 0, 0}},
		"what the service asks for":        {[]outcome{{err: asked}, {err: asked}, well()}, retry.Options{Random: fixed(.5)}, []time.Duration{7*s + s/2, 8 * s}},
		"success":                          {[]outcome{failing(backends.KindOverloaded), well()}, retry.Options{Random: fixed(1)}, []time.Duration{s}},
		"the time of attempts counts":      {[]outcome{{takes: 59 * s, err: failure(backends.KindNetwork)}}, retry.Options{Random: fixed(1)}, []time.Duration{60 * s}},
		"a last attempt has all its time":  {[]outcome{failing(backends.KindNetwork), {takes: time.Hour, text: "late"}}, retry.Options{Random: fixed(1)}, []time.Duration{s}},
		"one attempt only":                 {[]outcome{failing(backends.KindNetwork)}, retry.Options{MaxAttempts: 1}, nil},
		"a second failure of another kind": {[]outcome{failing(backends.KindNetwork), failing(backends.KindAuth)}, retry.Options{Random: fixed(1)}, []time.Duration{s}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				inner := &script{outcomes: c.outcomes}
				b := retry.New(inner, newGate("script", retry.Limits{Failures: -1}), c.options)
				_, e := call(t.Context(), t, b)
				if last := c.outcomes[min(len(inner.starts), len(c.outcomes))-1]; (e == nil) != (last.err == nil) {
					t.Errorf("the call ended with %v, the last attempt with %v", e, last.err)
				}
				if diff := cmp.Diff(c.want, inner.waits()); diff != "" {
					t.Errorf("waits differ (-want +got):\n%s", diff)
				}
			})
		})
	}
}

func TestNotRepeated(t *testing.T) {
	begun := failure(backends.KindNetwork)
	begun.Begun = true
	spent := failure(backends.KindRateLimit)
	spent.QuotaSpent, spent.RetryAfter = true, time.Second
	for name, o := range map[string]outcome{
		"auth":                        failing(backends.KindAuth),
		"bad request":                 failing(backends.KindBadRequest),
		"refused":                     failing(backends.KindRefused),
		"too long":                    failing(backends.KindTooLong),
		"cancelled":                   failing(backends.KindCancelled),
		"begun, as the error says":    {err: begun},
		"begun, as was seen":          {text: "half", err: failure(backends.KindNetwork)},
		"an account that has run out": {err: spent},
	} {
		synctest.Test(t, func(t *testing.T) {
			inner := &script{outcomes: []outcome{o, well()}}
			_, e := call(t.Context(), t, retry.New(inner, newGate("script", retry.Limits{}), retry.Options{}))
			if len(inner.starts) != 1 || e == nil {
				t.Fatalf("%s: %d attempts, error %v", name, len(inner.starts), e)
			}
			if diff := cmp.Diff(o.err.(*backends.Error), e); diff != "" {
				t.Errorf("%s: the error differs (-want +got):\n%s", name, diff)
			}
		})
	}
}

func TestGivingUp(t *testing.T) {
	later := failure(backends.KindRateLimit)
	later.RetryAfter = 10 * time.Minute
	soon := failure(backends.KindRateLimit)
	soon.RetryAfter = 5 * time.Second
	for name, c := range map[string]struct {
		outcome  outcome
		options  retry.Options
		limits   retry.Limits
		deadline time.Duration
		attempts int
		took     time.Duration
		want     string
	}{
		"attempts":         {failing(backends.KindOverloaded), retry.Options{MaxAttempts: 3}, retry.Limits{}, time.Hour, 3, 3 * time.Second, "no luck (gave up: 3 attempts were made)"},
		"a long wait":      {outcome{err: later}, retry.Options{}, retry.Limits{}, time.Hour, 1, 0, "no luck (gave up: the next attempt could be made in 10m1s, and only 2m0s are left)"},
		"the own deadline": {outcome{err: soon}, retry.Options{}, retry.Limits{}, 4 * time.Second, 1, 0, "no luck (gave up: the next attempt could be made in 6s, and only 4s are left)"},
		"no time":          {outcome{takes: 3 * time.Minute, err: failure(backends.KindTimeout)}, retry.Options{}, retry.Limits{}, time.Hour, 1, 3 * time.Minute, "no luck (gave up: the next attempt could be made in 1s, and only 0s are left)"},
		"slow limits":      {failing(backends.KindNetwork), retry.Options{MaxTime: 30 * time.Second}, retry.Limits{RequestsPerMinute: 1}, time.Hour, 1, 30 * time.Second, "no luck (gave up: the limits of its use left no time for another attempt)"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), c.deadline)
				defer cancel()
				inner := &script{outcomes: []outcome{c.outcome}}
				c.options.Random = fixed(1)
				start := time.Now()
				_, e := call(ctx, t, retry.New(inner, newGate("script", c.limits), c.options))
				if took := time.Since(start); len(inner.starts) != c.attempts || took != c.took {
					t.Errorf("%d attempts in %s, want %d in %s", len(inner.starts), took, c.attempts, c.took)
				}
				first := c.outcome.err.(*backends.Error)
				if e == nil || e.Message != c.want || e.Kind != first.Kind || e.RetryAfter != first.RetryAfter {
					t.Errorf("the call ended with %+v", e)
				}
				if first.Message != "no luck" {
					t.Error("the error of the backend inside was changed")
				}
			})
		})
	}
}

func TestCancelBetweenAttempts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		inner := &script{outcomes: []outcome{failing(backends.KindOverloaded)}}
		time.AfterFunc(500*time.Millisecond, cancel)
		start := time.Now()
		_, e := call(ctx, t, retry.New(inner, newGate("script", retry.Limits{}), retry.Options{Random: fixed(1)}))
		if e == nil || e.Kind != backends.KindCancelled || !strings.Contains(e.Message, "no luck") || time.Since(start) != 500*time.Millisecond {
			t.Errorf("after %s: %+v", time.Since(start), e)
		}
	})
}

// TestCostOfACancelBetweenAttempts is that of the attempt before: nothing if that was
// answered with an error status, unknown if it broke.
func TestCostOfACancelBetweenAttempts(t *testing.T) {
	answered, broken := failure(backends.KindOverloaded), failure(backends.KindNetwork)
	answered.Status = http.StatusServiceUnavailable
	for _, last := range []*backends.Error{answered, broken} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(500*time.Millisecond, cancel)
			inner := &script{outcomes: []outcome{{err: last}}}
			_, e := call(ctx, t, retry.New(inner, newGate("script", retry.Limits{}), retry.Options{Random: fixed(1)}))
			if e == nil || e.Kind != backends.KindCancelled || e.Unbilled() != (last == answered) {
				t.Errorf("after %v: %+v", last, e)
			}
		})
	}
}

// TestDeadlineInAnAttempt: it is no failure that anyone would repeat.
func TestDeadlineInAnAttempt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		ctx = backends.WithTrace(ctx, &backends.Trace{Retry: func(backends.RetryInfo) { t.Error("a repetition was announced") }})
		inner := &script{outcomes: []outcome{{takes: time.Hour}}}
		_, e := call(ctx, t, retry.New(inner, newGate("script", retry.Limits{}), retry.Options{}))
		if e == nil || e.Kind != backends.KindTimeout || e.Message != context.DeadlineExceeded.Error() {
			t.Errorf("%+v", e)
		}
	})
}

func TestTraceOfRetries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var got []backends.RetryInfo
		ctx := backends.WithTrace(t.Context(), &backends.Trace{Retry: func(r backends.RetryInfo) { got = append(got, r) }})
		inner := &script{outcomes: []outcome{failing(backends.KindOverloaded), failing(backends.KindNetwork), well()}}
		if _, e := call(ctx, t, retry.New(inner, newGate("script", retry.Limits{}), retry.Options{Random: fixed(.5)})); e != nil {
			t.Fatal(e)
		}
		key := request().Key
		want := []backends.RetryInfo{
			{Key: key, Attempt: 1, MaxAttempts: 4, Err: failure(backends.KindOverloaded), Wait: time.Second / 2},
			{Key: key, Attempt: 2, MaxAttempts: 4, Err: failure(backends.KindNetwork), Wait: time.Second},
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("the trace differs (-want +got):\n%s", diff)
		}
	})
}

// TestDefaultJitter: without a source of its own, the waits differ and are within
// their ceilings.
func TestDefaultJitter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		seen := map[time.Duration]bool{}
		for range 20 {
			inner := &script{outcomes: []outcome{failing(backends.KindNetwork), well()}}
			if _, e := call(t.Context(), t, retry.New(inner, newGate("script", retry.Limits{}), retry.Options{})); e != nil {
				t.Fatal(e)
			}
			wait := inner.waits()[0]
			seen[wait] = true
			if wait >= time.Second {
				t.Errorf("a wait of %s", wait)
			}
		}
		if len(seen) < 10 {
			t.Errorf("only %d different waits", len(seen))
		}
	})
}
