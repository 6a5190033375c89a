package coordinator

import (
	"context"
	"fmt"
	"time"

	"github.com/massgen/massgen/agents"
)

// guarded runs a function, and returns its panic as an error. Errors call the function what.
func guarded(what string, run func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%s panicked: %v", what, r)
		}
	}()
	return run()
}

// hook runs a function of the panel's user in a goroutine of its own. Errors call the function what. A panic
// and runtime.Goexit become errors: other turns run, and this turn's result must still be delivered. hook
// abandons a function that has not returned agents.AbandonAfter after the end of ctx: it returns an error,
// and the goroutine goes on alone. So the function's values may be read only without an error.
func hook(ctx context.Context, what string, run func() error) error {
	over := make(chan error, 1)
	go func() {
		err := fmt.Errorf("%s ended its goroutine (runtime.Goexit)", what)
		defer func() { over <- err }()
		err = guarded(what, run)
	}()
	select {
	case err := <-over:
		return err
	case <-ctx.Done():
	}
	patience := time.NewTimer(agents.AbandonAfter)
	defer patience.Stop()
	select {
	case err := <-over:
		return err
	case <-patience.C:
		return fmt.Errorf("%s did not return after its context ended", what)
	}
}
