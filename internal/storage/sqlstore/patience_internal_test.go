package sqlstore

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// TestALateOperationSaysWhatItWaitedFor: it returns the error of its context, with the last failure in the message.
func TestALateOperationSaysWhatItWaitedFor(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := &DB{Dialect: Dialect{Faults: Faults{Passes: func(error) bool { return true }, Patience: time.Hour, Pause: time.Second}}}
		ctx, cancel := context.WithTimeout(t.Context(), 4500*time.Millisecond)
		defer cancel()
		tries := 0
		err := d.Patiently(ctx, func() error {
			if tries++; tries == 5 { // it waits for a connection that nobody makes
				<-ctx.Done()
				return ctx.Err()
			}
			return errors.New("dial: refused")
		})
		if !errors.Is(err, context.DeadlineExceeded) || err.Error() != "context deadline exceeded: dial: refused" {
			t.Errorf("%d tries: %v", tries, err)
		}
		cancelled, cancel := context.WithCancel(t.Context())
		err = d.Patiently(cancelled, func() error {
			cancel()
			return errors.New("dial: refused")
		})
		if err != context.Canceled {
			t.Errorf("interrupted: %v", err)
		}
	})
}
