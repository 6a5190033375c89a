package wire

import "fmt"

// MaxResponse is how many bytes are read of one response, streamed or whole: many
// times what the longest answer of a model takes.
const MaxResponse = 32 << 20

// ErrTooLong ends a response of more than MaxResponse bytes.
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
