package cmdline

import (
	"context"
	"math"

	"github.com/massgen/massgen/internal/system/plain"
	"github.com/massgen/massgen/sessions"
)

// WaitForServer repeats do while the server that it needs is away, until ctx is done. It logs why it waits, and again
// when the reason changes.
func WaitForServer[T any](ctx context.Context, c *Console, do func() (T, error)) (T, error) {
	var last, told string
	return sessions.Again(ctx, math.MaxInt64, func() (T, error) {
		if last != told {
			c.Say("massgen: warning: waiting: %s", plain.Line(last)) // also with --quiet: nothing works meanwhile
			told = last
		}
		v, err := do()
		if err != nil {
			last = err.Error()
		}
		return v, err
	})
}
