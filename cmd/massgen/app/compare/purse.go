package compare

import (
	"context"
	"sync"

	"github.com/massgen/massgen/backends"
)

// purse is what a comparison may spend. Each attempt is paid for in advance, at its highest price. It is safe
// for concurrent use.
type purse struct {
	// most is the limit in dollars, nil for none. empty is called once an attempt does not fit. It must not use the purse.
	most  *float64
	empty func()

	mu          sync.Mutex
	spent, held float64
	out         int // attempts under way
	changed     chan struct{}
	isEmpty     bool
}

func newPurse(most *float64, empty func()) *purse {
	return &purse{most: most, empty: empty, changed: make(chan struct{})}
}

// stream makes a call, and counts what it costs.
func (p *purse) stream(ctx context.Context, b backends.Backend, req backends.Request, yield func(backends.Event, error) bool) {
	if p.most != nil {
		ctx = backends.WithBudget(ctx, paid{p, backends.BudgetFrom(ctx)})
	}
	var usage *backends.Usage
	for ev, err := range b.Stream(ctx, req) {
		if u, ok := ev.(backends.Usage); ok {
			usage = &u
		}
		if !yield(ev, err) {
			break
		}
	}
	if usage != nil && usage.CostUSD != nil && p.most == nil {
		p.add(*usage.CostUSD)
	}
}

func (p *purse) add(cost float64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.spent += cost
}

// total returns the dollars that were spent in this process.
func (p *purse) total() float64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.spent
}

// paid is the budget of one call: that of the purse, and then that of the turn, which may be nil.
type paid struct {
	purse *purse
	turn  backends.Budget
}

// Reserve implements backends.Budget. An attempt that does not fit waits for the others. If it never fits, the
// comparison ends: Reserve waits for that, so that no turn gets an answer without the attempt.
func (b paid) Reserve(ctx context.Context, most, least backends.Cost) (backends.Reservation, int, error) {
	cost := 0.0
	if most.USD != nil {
		cost = *most.USD
	}
	for {
		changed, ok := b.purse.take(cost)
		if ok {
			break
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, 0, backends.Unpaid(backends.KindOf(ctx.Err()), "the comparison has no money left", ctx.Err())
		}
	}
	of := payment{purse: b.purse, most: cost}
	if b.turn == nil {
		return of, 0, nil
	}
	held, less, err := b.turn.Reserve(ctx, most, least)
	if err != nil {
		b.purse.end(cost, 0)
		return nil, 0, err
	}
	of.held = held
	return of, less, nil
}

// take holds an amount. If there is not enough, changed is closed when there may be more.
func (p *purse) take(cost float64) (changed <-chan struct{}, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.isEmpty && p.spent+p.held+cost <= *p.most {
		p.held += cost
		p.out++
		return nil, true
	}
	if p.out == 0 && !p.isEmpty {
		p.isEmpty = true
		p.empty()
	}
	return p.changed, false
}

func (p *purse) end(held, spent float64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.held -= held
	p.spent += spent
	p.out--
	close(p.changed)
	p.changed = make(chan struct{})
}

// payment is an attempt that is paid for.
type payment struct {
	purse *purse
	most  float64
	held  backends.Reservation // of the turn, nil for none
}

// Release implements backends.Reservation.
func (p payment) Release() {
	if p.held != nil {
		p.held.Release()
	}
	p.purse.end(p.most, 0)
}

// Settle implements backends.Reservation.
func (p payment) Settle(usage *backends.Usage) {
	if p.held != nil {
		p.held.Settle(usage)
	}
	spent := p.most
	if usage != nil && usage.CostUSD != nil {
		spent = *usage.CostUSD
	}
	p.purse.end(p.most, spent)
}
