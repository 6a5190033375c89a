package coordinator

import (
	"context"

	"github.com/massgen/massgen/internal/coordination/driver"
	"github.com/massgen/massgen/internal/coordination/effect"
)

// newSteps returns the contexts of a turn's work. Sidecalls delay the turn for sidecallLimit at
// most.
func newSteps(root context.Context) driver.Steps[context.Context] {
	return driver.NewSteps(func(agent int) (context.Context, func()) {
		if agent == effect.NoAgent {
			return context.WithTimeout(root, sidecallLimit)
		}
		return context.WithCancel(root)
	})
}
