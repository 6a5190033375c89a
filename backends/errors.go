package backends

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

// Kind says what went wrong with a call, in terms of what can be done about it.
type Kind string

// The kinds of error (DESIGN §7).
const (
	KindAuth       Kind = "auth"
	KindRateLimit  Kind = "rate_limit"
	KindOverloaded Kind = "overloaded"
	KindTooLong    Kind = "context_too_long"
	KindBadRequest Kind = "bad_request"
	KindRefused    Kind = "refused"
	KindNetwork    Kind = "network"
	KindTimeout    Kind = "timeout"
	KindCancelled  Kind = "cancelled"
	// KindBudget is an attempt that was not sent, since it might have cost more than is
	// left.
	KindBudget Kind = "budget"
)

// Error is what every failed call ends with.
type Error struct {
	Kind     Kind
	Provider string
	// Message is the provider's own text, or what was seen on the wire.
	Message string
	// Status is the HTTP status, 0 if no status was received.
	Status int
	// NoTools reports whether the service takes no tools for this model; Kind is then
	// KindBadRequest.
	NoTools bool
	// QuotaSpent reports whether the account has used up what it paid for, which waiting does
	// not cure; Kind is then KindRateLimit.
	QuotaSpent bool
	// Unreachable reports whether waiting will not help: there is no such host, or nothing
	// listens on that port of this machine.
	Unreachable bool
	// Free reports whether the call cost nothing although no Status proves it: nothing was
	// sent, or the call ended after a first attempt that cost nothing.
	Free bool
	// Unsent reports whether no attempt of the call was made.
	Unsent bool
	// RetryAfter is how long the provider asked to wait, 0 if it did not say.
	RetryAfter time.Duration
	// Begun reports whether a part of the answer had come before it failed, so that a
	// repetition would be paid for twice.
	Begun bool
	// Cut are the tool calls that had begun and not ended. They are for people to look at,
	// and are never run.
	Cut []ToolCall
	Err error
}

func (e *Error) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s", e.Provider, strings.ReplaceAll(string(e.Kind), "_", " "))
	if e.Status != 0 {
		fmt.Fprintf(&b, " (HTTP %d)", e.Status)
	}
	if e.Message != "" {
		b.WriteString(": " + e.Message)
	}
	return b.String()
}

func (e *Error) Unwrap() error { return e.Err }

// Retryable reports whether the same request may succeed later.
func (e *Error) Retryable() bool {
	switch e.Kind {
	case KindRateLimit, KindOverloaded, KindNetwork, KindTimeout:
		return !e.Unreachable && !e.QuotaSpent
	}
	return false
}

// Unbilled reports whether the call cost nothing: the service answered with an error
// status, was not reached, or was not asked. A call that broke in another way may have
// been billed.
func (e *Error) Unbilled() bool {
	return !e.Begun && (e.Free || e.Status >= 400)
}

// KindOf returns the kind of err: its own if it is an *Error, cancelled or
// timeout for a context's error, network for any other.
func KindOf(err error) Kind {
	var e *Error
	switch {
	case errors.As(err, &e):
		return e.Kind
	case errors.Is(err, context.Canceled):
		return KindCancelled
	case errors.Is(err, context.DeadlineExceeded):
		return KindTimeout
	}
	return KindNetwork
}
