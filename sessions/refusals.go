package sessions

import (
	"errors"
	"fmt"

	"github.com/massgen/massgen/internal/system/blob"
)

// The errors of stores, with the same text in all of them.

// NoSession returns the error for a missing session.
func NoSession(id string) error { return fmt.Errorf("%w %q", ErrNoSession, id) }

// Exists returns the error for a new session whose id exists already.
func Exists(id string) error { return fmt.Errorf("%w %q", ErrExists, id) }

// NoFact returns the error for a missing fact.
func NoFact(id int64) error { return fmt.Errorf("%w %d", ErrNoFact, id) }

// NoText returns the error for a text that was never put, or was deleted.
func NoText(ref blob.Ref) error { return fmt.Errorf("%w %.12s", ErrNoText, ref.SHA256) }

// ErrNotRunning is the error of an operation that needs a running turn.
var ErrNotRunning = errors.New("is not running")

// NotRunning is ErrNotRunning for a turn.
func NotRunning(id string, turn int) error {
	return fmt.Errorf("turn %d of session %s %w", turn, id, ErrNotRunning)
}
