package sessions

import (
	"context"
	"errors"
	"time"

	"github.com/cenkalti/backoff/v5"
)

// away is the error of a store that cannot be reached, and may be later.
type away struct{ error }

func (a away) Unwrap() error { return a.error }

// Away marks an error of a store that cannot be reached, and may be later, for IsAway.
func Away(err error) error { return away{err} }

// IsAway reports whether a store could not be reached for now. The operation may have succeeded
// all the same.
func IsAway(err error) bool { return errors.As(err, new(away)) }

// Again repeats an operation of a store until the store is not away. It gives up after most, or
// when ctx is done, with the store's last error.
func Again[T any](ctx context.Context, most time.Duration, do func() (T, error)) (v T, err error) {
	waits := backoff.NewExponentialBackOff()
	waits.MaxInterval = 5 * time.Second
	_, retryErr := backoff.Retry(ctx, func() (struct{}, error) {
		if v, err = do(); err != nil && !IsAway(err) {
			return struct{}{}, backoff.Permanent(err)
		}
		return struct{}{}, err
	}, backoff.WithBackOff(waits), backoff.WithMaxElapsedTime(most))
	if err == nil { // ctx was done before the first try
		err = retryErr
	}
	return v, err
}
