package retry_test

import (
	"bytes"
	"context"
	"iter"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/internal/models/retry"
	"github.com/massgen/massgen/internal/system/metrics"
)

// busyFirst fails so many attempts, and then answers.
type busyFirst struct{ times int }

func (f *busyFirst) Stream(context.Context, backends.Request) iter.Seq2[backends.Event, error] {
	return func(yield func(backends.Event, error) bool) {
		if f.times > 0 {
			f.times--
			yield(nil, &backends.Error{Kind: backends.KindOverloaded, Message: "busy"})
			return
		}
		yield(backends.Usage{InputTokens: 3, OutputTokens: 2}, nil)
	}
}

func (*busyFirst) Close() error { return nil }

// TestWatch: calls, attempts, tokens, cost, an open breaker and the waits for a limit are counted, and what a person
// must know is logged.
func TestWatch(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		m := metrics.New()
		w := &retry.Watch{Log: slog.New(slog.NewTextHandler(&out, nil)), Metrics: m}
		limits := retry.Limits{RequestsPerMinute: 12, Failures: 2, Pause: 5 * time.Second}
		inner := &busyFirst{times: 1}
		b := retry.New(inner, retry.NewGate("p", limits, retry.NewLimiter(limits)).Watched(w), retry.Options{Watch: w, MaxAttempts: 2})
		call := func() {
			for range b.Stream(t.Context(), backends.Request{Model: "m", Key: backends.Key{Session: "s", Turn: 2, Agent: "a", Purpose: "answer"}}) {
			}
		}
		call()
		inner.times = 2
		call()
		for name, got := range map[string]float64{
			"ok":     m.Value(metrics.CallsTotal(), "provider", "p", "called", "m", "outcome", "ok"),
			"retry":  m.Value(metrics.CallRetriesTotal(), "provider", "p", "called", "m", "reason", "overloaded") - 1,
			"failed": m.Value(metrics.CallsTotal(), "provider", "p", "called", "m", "outcome", "overloaded"),
			"over":   m.Value(metrics.CallsRunning(), "provider", "p", "called", "m") + 1,
			"still":  m.Value(metrics.AttemptsWaiting(), "provider", "p", "reason", "limit") + m.Value(metrics.AttemptsWaiting(), "provider", "p", "reason", "pause") + 1,
			"open":   m.Value(metrics.BreakerOpen(), "provider", "p"),
			"wait":   m.Value(metrics.LimitWaitsTotal(), "limit", "rate"),
		} {
			if got != 1 {
				t.Errorf("%s: %v", name, got)
			}
		}
		time.Sleep(10 * time.Second)
		if m.Value(metrics.BreakerOpen(), "provider", "p") != 0 {
			t.Error("the breaker counts as open after its pause")
		}
		said := out.String()
		for _, want := range []string{`level=WARN msg="a limit holds a call up" session=s turn=2 agent=a`, "limit=rate", `level=ERROR msg="calls to a provider are refused for now: it failed too often"`} {
			if strings.Count(said, want) != 1 {
				t.Errorf("%q is not there once: %s", want, said)
			}
		}
	})
}
