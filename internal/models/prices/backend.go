package prices

import (
	"context"
	"iter"

	"github.com/massgen/massgen/backends"
)

// Wrap returns a backend that calls inner and adds its cost to each usage, by the
// table's prices of the request's model at provider. It is as safe for concurrent use
// as inner.
func (t *Table) Wrap(provider string, inner backends.Backend) backends.Backend {
	return pricedBackend{t, provider, inner}
}

type pricedBackend struct {
	table    *Table
	provider string
	inner    backends.Backend
}

func (b pricedBackend) Stream(ctx context.Context, req backends.Request) iter.Seq2[backends.Event, error] {
	stream, name := b.inner.Stream(ctx, req), req.Model // the closure keeps the name, and not the whole request
	return func(yield func(backends.Event, error) bool) {
		model, _ := b.table.Lookup(b.provider, name)
		for ev, err := range stream {
			if u, ok := ev.(backends.Usage); ok {
				u.CostUSD = Sum(model.Cost(&u), b.table.hostedCost(b.provider, name, u))
				ev = u
			}
			if !yield(ev, err) {
				return
			}
		}
	}
}
