package prices

import (
	"context"
	"iter"

	"github.com/massgen/massgen/backends"
)

// Wrap returns a backend that calls inner and says of each usage what it cost, by
// the table's prices of the request's model at provider. It is as safe for
// concurrent use as inner.
func (t *Table) Wrap(provider string, inner backends.Backend) backends.Backend {
	return pricedBackend{t, provider, inner}
}

type pricedBackend struct {
	table    *Table
	provider string
	inner    backends.Backend
}

func (b pricedBackend) Stream(ctx context.Context, req backends.Request) iter.Seq2[backends.Event, error] {
	return func(yield func(backends.Event, error) bool) {
		model, _ := b.table.Lookup(b.provider, req.Model)
		for ev, err := range b.inner.Stream(ctx, req) {
			if u, ok := ev.(backends.Usage); ok {
				u.CostUSD = Sum(model.Cost(&u), b.table.hostedCost(b.provider, req.Model, u))
				ev = u
			}
			if !yield(ev, err) {
				return
			}
		}
	}
}
