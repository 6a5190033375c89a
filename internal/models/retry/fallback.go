package retry

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/massgen/massgen/backends"
)

// Choice is a model that is called when those before it cannot be used.
type Choice struct {
	// Provider names the backend in reports.
	Provider string
	Backend  backends.Backend
	// Model takes the place of the request's.
	Model string
	// Headers and ExtraBody take the place of the request's: those are written for one
	// service, may hold a secret, and are not for another. All other parameters stay.
	Headers   map[string]string
	ExtraBody map[string]any
}

// Fallback calls the first of its models that can be used. It is safe for
// concurrent use.
type Fallback struct {
	choices []Choice // the first takes requests as they stand
	// refused has, for each choice, the error that refused its key. Later calls pass over it.
	refused []atomic.Pointer[backends.Error]
}

// NewFallback returns a backend that sends requests as they stand to first, which reports
// name provider, and if that cannot be used, to the others in their order.
func NewFallback(provider string, first backends.Backend, others ...Choice) *Fallback {
	return &Fallback{
		choices: slices.Concat([]Choice{{Provider: provider, Backend: first}}, others),
		refused: make([]atomic.Pointer[backends.Error], 1+len(others)),
	}
}

// Reserves reports whether all of its models reserve their attempts.
func (f *Fallback) Reserves() bool {
	return !slices.ContainsFunc(f.choices, func(c Choice) bool { return !backends.Reserves(c.Backend) })
}

// Stream calls one model after the other, until one answers, has begun to answer,
// or fails for a reason that another model does not cure, or ctx has ended. Another
// model cures a bad key or an unpaid account, a rate limit (also one that the request alone
// exceeds), an overload, an open breaker and a service that is not there. Trace.Fallback gets each change. If several
// models failed, the error has the kind of the last failure and names each. Every call
// begins with the first model again, but passes over a model whose key was refused
// before, unless it is the last.
func (f *Fallback) Stream(ctx context.Context, req backends.Request) iter.Seq2[backends.Event, error] {
	return func(yield func(backends.Event, error) bool) {
		var said []string
		for i, choice := range f.choices {
			sent := f.request(i, req)
			isLast := i+1 == len(f.choices)
			begun, known := false, !isLast && f.refused[i].Load() != nil
			var err error
			if known {
				err = f.refused[i].Load()
			} else if begun, err = stream(choice.Backend.Stream(ctx, sent), yield); err == nil {
				return
			}
			f.note(i, err)
			from := named(choice, sent)
			said = append(said, fmt.Sprintf("%s: %v", from, err))
			if isLast || begun || !curable(err) || ctx.Err() != nil {
				yield(nil, failed(said, err))
				return
			}
			next := named(f.choices[i+1], f.request(i+1, req))
			backends.TraceFrom(ctx).FellBack(backends.FallbackInfo{Key: req.Key, From: from, To: next, Err: err, Known: known})
		}
	}
}

// note keeps that the key of choice i was refused.
func (f *Fallback) note(i int, err error) {
	var e *backends.Error
	if errors.As(err, &e) && e.Kind == backends.KindAuth && curable(err) {
		f.refused[i].Store(e)
	}
}

// named returns PROVIDER/MODEL, or the provider alone if sent names no model.
func named(c Choice, sent backends.Request) string {
	return strings.TrimSuffix(c.Provider+"/"+sent.Model, "/")
}

// request returns req as choice i gets it.
func (f *Fallback) request(i int, req backends.Request) backends.Request {
	if i > 0 {
		c := f.choices[i]
		req.Model, req.Params.Headers, req.Params.ExtraBody = c.Model, c.Headers, c.ExtraBody
	}
	return req
}

// stream passes events on to yield, and returns the error at their end, nil if the reader
// of yield stopped. begun reports whether an event that counts was yielded.
func stream(events iter.Seq2[backends.Event, error], yield func(backends.Event, error) bool) (begun bool, err error) {
	for ev, err := range events {
		if err != nil {
			return begun, err
		}
		begun = begun || counts(ev)
		if !yield(ev, nil) {
			return begun, nil
		}
	}
	return begun, nil
}

// curable reports whether another model may answer where one failed with err.
func curable(err error) bool {
	var e *backends.Error
	if !errors.As(err, &e) || e.Begun {
		return false
	}
	switch e.Kind {
	case backends.KindAuth, backends.KindRateLimit, backends.KindOverloaded:
		return true
	case backends.KindTooLong:
		return e.Status == http.StatusTooManyRequests // the account's limit, not the model's window
	}
	return e.Unreachable
}

// failed returns the last error, with a message that names all failures.
func failed(said []string, last error) error {
	var e *backends.Error
	if len(said) == 1 || !errors.As(last, &e) {
		return last
	}
	out := *e
	out.Err = last
	out.Message = fmt.Sprintf("%d models failed: %s", len(said), strings.Join(said, "; "))
	return &out
}
