package wire

import "fmt"

// The limits of one response, many times what the longest answer of a model takes. MaxResponse is the most
// bytes of texts, reasoning and arguments in it, and the most bytes that it has beside the events that bring
// these: so it limits a single event too, and a response that is not streamed. MaxStream is the most bytes
// of all: services send a few hundred bytes around each token.
const (
	MaxResponse = 32 << 20
	MaxStream   = 8 * MaxResponse
)

// mostAround is how many bytes of an event that brings a part of the answer do not count for MaxResponse.
// framing is about what an event has beside its data.
const (
	mostAround = 8 << 10
	framing    = 64
)

// ErrTooLong ends a response of more than MaxResponse bytes, or of more than MaxStream in all.
var ErrTooLong = limitErrorf("the response is longer than %d MiB, the most that is read of one", MaxResponse>>20)

// MaxCalls is how many tool calls are taken of one answer.
const MaxCalls = 256

// ErrTooManyCalls ends an answer of more than MaxCalls tool calls.
var ErrTooManyCalls = limitErrorf("the answer has more than %d tool calls, the most that are taken of one", MaxCalls)

// limitError is an answer that is too much to be taken. To ask again would bring
// the same.
type limitError struct{ message string }

func limitErrorf(format string, args ...any) error { return &limitError{fmt.Sprintf(format, args...)} }

func (e *limitError) Error() string { return e.message }
