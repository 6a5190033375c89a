// Package sleep waits for a time that a context can cut short.
package sleep

import (
	"context"
	"time"
)

// For returns after d, or returns ctx's error as soon as ctx is done, also if both come at once.
func For(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
	return ctx.Err()
}
