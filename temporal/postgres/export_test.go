package postgres

import (
	"context"
	"time"
)

// OpenFor opens a store whose leases last for so long.
func OpenFor(ctx context.Context, address string, lease time.Duration) (*Store, error) {
	return open(ctx, address, lease)
}

// Part parts a store from the server as far as its leases go: they are prolonged no more.
func Part(s *Store) { s.stop() }

// Vector is vector.
func Vector(texts ...string) string { return vector(texts...) }
