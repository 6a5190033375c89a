package backends

import (
	"context"
	"time"
)

// Trace shows what passes over the wire during a call, as net/http/httptrace
// does for connections. Adapters call its functions, where they are not nil,
// with the bytes as sent and as received; the callee must not keep or change
// the slices. Nothing in a Trace is ever read by a machine.
type Trace struct {
	// RequestBody is called with each body, before it is sent: once per attempt, and
	// once more where the connection turned out to be closed.
	RequestBody func(body []byte)
	// ResponseChunk is called for each piece of the raw response body.
	ResponseChunk func(chunk []byte)
	// Retry is called when an attempt has failed and will be repeated, before the
	// wait.
	Retry func(RetryInfo)
	// Fallback is called when a model has failed and the next one will be called.
	Fallback func(FallbackInfo)
}

// RetryInfo is an attempt that failed and will be repeated.
type RetryInfo struct {
	Key Key
	// Attempt is the number of the attempt that failed, from 1, and MaxAttempts how
	// many there may be.
	Attempt, MaxAttempts int
	Err                  error
	// Wait passes before the next attempt asks to be let through.
	Wait time.Duration
}

// FallbackInfo is a change to another model. From and To name provider and model,
// as in "claude/claude-opus-5-5".
type FallbackInfo struct {
	Key      Key
	From, To string
	Err      error
	// Known reports whether Err comes from an earlier call, so that From was not called again.
	Known bool
}

type traceKey struct{}

// WithTrace returns a context under which calls report to t.
func WithTrace(ctx context.Context, t *Trace) context.Context {
	return context.WithValue(ctx, traceKey{}, t)
}

// TraceFrom returns the trace of ctx. It is never nil.
func TraceFrom(ctx context.Context) *Trace {
	if t, ok := ctx.Value(traceKey{}).(*Trace); ok {
		return t
	}
	return &Trace{}
}

// SentRequest reports a request body, if anyone wants to know.
func (t *Trace) SentRequest(body []byte) {
	if t.RequestBody != nil {
		t.RequestBody(body)
	}
}

// ReceivedChunk reports a piece of a response body, if anyone wants to know.
func (t *Trace) ReceivedChunk(chunk []byte) {
	if t.ResponseChunk != nil {
		t.ResponseChunk(chunk)
	}
}

// WillRetry reports an attempt that will be repeated, if anyone wants to know.
func (t *Trace) WillRetry(info RetryInfo) {
	if t.Retry != nil {
		t.Retry(info)
	}
}

// FellBack reports a change to another model, if anyone wants to know.
func (t *Trace) FellBack(info FallbackInfo) {
	if t.Fallback != nil {
		t.Fallback(info)
	}
}
