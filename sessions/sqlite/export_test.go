package sqlite

import (
	"context"
	"time"
)

// OpenPatiently is Open of a store that waits for others for a minute, however slow the
// machine is.
func OpenPatiently(ctx context.Context, path string) (*Store, error) {
	return openWithin(ctx, path, time.Minute)
}
