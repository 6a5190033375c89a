package sessions

import (
	"errors"
	"fmt"

	"github.com/massgen/massgen/internal/blob"
)

// The refusals of stores, which say the same in all of them.

// NoSession is the refusal of a session that is not there.
func NoSession(id string) error { return fmt.Errorf("%w %q", ErrNoSession, id) }

// Exists is the refusal of a new session whose id is taken.
func Exists(id string) error { return fmt.Errorf("%w %q", ErrExists, id) }

// NoFact is the refusal of a fact that is not there.
func NoFact(id int64) error { return fmt.Errorf("%w %d", ErrNoFact, id) }

// NoText is the refusal of a text that was not put, or is forgotten.
func NoText(ref blob.Ref) error { return fmt.Errorf("%w %.12s", ErrNoText, ref.SHA256) }

// ErrNotRunning is the refusal of what only a running turn may do.
var ErrNotRunning = errors.New("is not running")

// NotRunning is ErrNotRunning for a turn.
func NotRunning(id string, turn int) error {
	return fmt.Errorf("turn %d of session %s %w", turn, id, ErrNotRunning)
}
