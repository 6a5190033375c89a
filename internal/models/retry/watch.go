package retry

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/internal/system/logs"
	"github.com/massgen/massgen/internal/system/metrics"
)

// Watch gets what happens to calls. A nil Watch, and one without a log or a registry, drops it. It is safe for
// concurrent use.
type Watch struct {
	Log     *slog.Logger
	Metrics *metrics.Registry
}

// heldUp is how long a limit lets an attempt wait before the log says so.
const heldUp = time.Second

// The statuses of calls that have no kind of error.
const (
	isFine    = "ok"
	isStopped = "stopped"
)

// The reasons why attempts wait, and the limits that hold them up.
const (
	forBudget = "budget"
	forLimit  = "limit"
	forPause  = "pause"
	limitRate = "rate"
)

func (w *Watch) logger(key backends.Key) *slog.Logger {
	if w == nil || w.Log == nil {
		return slog.New(slog.DiscardHandler)
	}
	return w.Log.With(logs.Session, key.Session, logs.Turn, key.Turn, logs.Agent, key.Agent, logs.Call, key.String())
}

func (w *Watch) registry() *metrics.Registry {
	if w == nil {
		return nil
	}
	return w.Metrics
}

// Expect makes the series of a model's calls exist before the first call.
func (w *Watch) Expect(provider, called string) {
	r := w.registry()
	r.Expect(metrics.CallsRunning(), "provider", provider, "called", called)
	r.Expect(metrics.CallDuration(), "provider", provider, "called", called)
	for _, outcome := range outcomes() {
		r.Expect(metrics.CallsTotal(), "provider", provider, "called", called, "outcome", outcome)
		if (&backends.Error{Kind: backends.Kind(outcome)}).Retryable() {
			r.Expect(metrics.CallRetriesTotal(), "provider", provider, "called", called, "reason", outcome)
		}
	}
	for _, reason := range []string{forBudget, forLimit, forPause} {
		r.Expect(metrics.AttemptsWaiting(), "provider", provider, "reason", reason)
	}
	for _, limit := range []string{forBudget, limitRate} {
		r.Expect(metrics.LimitWaitsTotal(), "limit", limit)
	}
}

// outcomes returns the outcomes of calls.
func outcomes() []string {
	all := []string{isFine, isStopped}
	for _, kind := range []backends.Kind{
		backends.KindAuth, backends.KindRateLimit, backends.KindOverloaded, backends.KindTooLong, backends.KindBadRequest,
		backends.KindRefused, backends.KindNetwork, backends.KindTimeout, backends.KindCancelled, backends.KindBudget,
	} {
		all = append(all, string(kind))
	}
	return all
}

// begun counts a call that begins.
func (w *Watch) begun(provider string, req backends.Request) {
	w.registry().Add(metrics.CallsRunning(), 1, "provider", provider, "called", req.Model)
}

// ended counts and logs a call that is over. usage is nil if it is not known.
func (w *Watch) ended(provider string, req backends.Request, took time.Duration, usage *backends.Usage, err error) {
	outcome := isFine
	switch {
	case errors.Is(err, errStopped):
		outcome = isStopped
	case err != nil:
		outcome = string(backends.KindOf(err))
	}
	r := w.registry()
	r.Add(metrics.CallsRunning(), -1, "provider", provider, "called", req.Model)
	r.Add(metrics.CallsTotal(), 1, "provider", provider, "called", req.Model, "outcome", outcome)
	r.Observe(metrics.CallDuration(), took.Seconds(), "provider", provider, "called", req.Model)
	if w == nil || w.Log == nil || !w.Log.Enabled(context.Background(), slog.LevelDebug) {
		return // most runs: what would be logged is not built
	}
	attrs := []any{logs.Provider, provider, logs.Called, req.Model, logs.Status, outcome, logs.Took, took.Round(time.Millisecond)}
	if usage != nil && usage.CostUSD != nil {
		attrs = append(attrs, logs.CostUSD, *usage.CostUSD)
	}
	if err != nil && outcome != isStopped {
		attrs = append(attrs, logs.Error, err)
	}
	w.logger(req.Key).Debug("a call is over", attrs...)
}

// retries counts and logs an attempt that failed and is repeated after a pause, until the returned function is called.
func (w *Watch) retries(provider string, req backends.Request, failure *backends.Error, wait time.Duration) (over func()) {
	w.registry().Add(metrics.CallRetriesTotal(), 1, "provider", provider, "called", req.Model, "reason", string(failure.Kind))
	w.logger(req.Key).Debug("a call is repeated", logs.Provider, provider, logs.Called, req.Model, "wait", wait, logs.Error, failure)
	return w.waiting(provider, forPause)
}

// waiting counts an attempt as waiting until the returned function is called.
func (w *Watch) waiting(provider, reason string) (over func()) {
	w.registry().Add(metrics.AttemptsWaiting(), 1, "provider", provider, "reason", reason)
	return func() { w.registry().Add(metrics.AttemptsWaiting(), -1, "provider", provider, "reason", reason) }
}

// holds counts an attempt as waiting for the budget or a limit, and logs it if it waits for long or is refused, until
// the returned function is called with the refusal.
func (w *Watch) holds(ctx context.Context, provider string, key backends.Key, reason string) (over func(refusal error)) {
	if w == nil {
		return func(error) {}
	}
	limit := reason
	if reason == forLimit {
		limit = limitRate
	}
	end := w.waiting(provider, reason)
	timer := time.AfterFunc(heldUp, func() {
		w.registry().Add(metrics.LimitWaitsTotal(), 1, "limit", limit)
		w.logger(key).Warn("a limit holds a call up", logs.Limit, limit, logs.Provider, provider)
	})
	return func(refusal error) {
		end()
		if timer.Stop() && refusal != nil && ctx.Err() == nil {
			w.registry().Add(metrics.LimitWaitsTotal(), 1, "limit", limit)
			w.logger(key).Warn("a limit refuses a call", logs.Limit, limit, logs.Provider, provider, logs.Error, refusal)
		}
	}
}

// opened logs that a breaker is open, and counts it as open until it lets a call through again.
func (w *Watch) opened(provider string, pause time.Duration, last error) {
	if w == nil {
		return
	}
	if w.Log != nil {
		w.Log.Error("calls to a provider are refused for now: it failed too often", logs.Provider, provider, "pause", pause, logs.Error, last)
	}
	w.broke(provider, 1)
	time.AfterFunc(pause, func() { w.broke(provider, -1) })
}

// broke changes the number of open breakers of a provider.
func (w *Watch) broke(provider string, by float64) {
	w.registry().Add(metrics.BreakerOpen(), by, "provider", provider)
}
