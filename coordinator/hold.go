package coordinator

import (
	"context"
	"errors"
	"fmt"
)

// whileHeld runs do while a turn holds its session. If do does not return nil, whileHeld calls release: also
// if a function of the panel's user panics in do or ends the goroutine (runtime.Goexit). The panic goes on
// to the caller, and hides an error of release.
func whileHeld(do, release func() error) (err error) {
	isDone := false
	defer func() {
		if !isDone {
			err = errors.Join(err, release())
		}
	}()
	err = do()
	isDone = err == nil
	return err
}

// beforeTurn runs Options.BeforeTurn.
func beforeTurn(ctx context.Context, hook func(context.Context, *Turn) error, t *Turn) error {
	if hook == nil {
		return nil
	}
	if err := hook(ctx, t); err != nil {
		return fmt.Errorf("before turn %d: %w", t.number, err)
	}
	return nil
}
