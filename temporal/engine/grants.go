package engine

import (
	"context"
	"crypto/rand"
	"sync"
	"sync/atomic"
	"time"

	"go.temporal.io/sdk/log"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/internal/coordination/budget"
	"github.com/massgen/massgen/internal/coordination/effect"
	"github.com/massgen/massgen/internal/system/sleep"
)

// grants is the budget of one call. Before each attempt it asks the call's workflow, which has
// the ledger of the turn, from whichever worker. It is safe for concurrent use.
type grants struct {
	workflows workflows
	workflow  string
	run       string
	key       effect.Key
	try       int
	// priced reports whether money is limited, not only tokens or calls, and withResult whether the cost of the call's last
	// attempt goes to the workflow with the call's result.
	priced, withResult bool
	// lost is set when the workflow says that this try counts as lost.
	lost *atomic.Bool
	log  log.Logger
	// owed is the end of an attempt that is not booked yet, with the ID of its update. mu is locked while it is booked.
	mu     sync.Mutex
	owed   *settlement
	owedID string
}

// Reserve implements backends.Budget.
func (g *grants) Reserve(ctx context.Context, most, least backends.Cost) (held backends.Reservation, less int, err error) {
	if most.USD == nil && g.priced {
		return nil, 0, backends.Unpaid(backends.KindBudget, "the model's price is unknown, so max_usd cannot be enforced", nil)
	}
	said, err := g.reserve(ctx, reservation{
		Key: g.key, Try: g.try, Asks: true,
		Most: budget.Request(most.Tokens, most.USD), Least: budget.Request(least.Tokens, least.USD),
	})
	switch {
	case ctx.Err() != nil:
		g.Release() // it may have been granted meanwhile
		return nil, 0, backends.Unpaid(backends.KindOf(ctx.Err()), "it waited for the budget: "+ctx.Err().Error(), ctx.Err())
	case err != nil:
		return nil, 0, backends.Unpaid(backends.KindBudget, err.Error(), err)
	case said.refused != "":
		g.lost.Store(said.refused == lostWord)
		return nil, 0, backends.Unpaid(backends.KindBudget, said.refused, nil)
	}
	return g, said.less, nil
}

// Release implements backends.Reservation.
func (g *grants) Release() { g.end(&budget.Amount{}) }

// Settle implements backends.Reservation.
func (g *grants) Settle(usage *backends.Usage) {
	if usage == nil || usage.CostUSD == nil && g.priced {
		g.end(nil)
		return
	}
	spent := budget.Request(usage.InputTokens+usage.OutputTokens, usage.CostUSD)
	if g.withResult { // the attempt has succeeded, so the result follows at once
		g.owe(&spent)
		return
	}
	g.end(&spent)
}

// settlePatience is how long a worker tries to book an attempt's end before it goes on. A call's next attempt first
// books an end that is still unbooked.
const settlePatience = time.Minute

func (g *grants) end(spent *budget.Amount) {
	ctx, cancel := context.WithTimeout(context.Background(), settlePatience)
	defer cancel()
	g.owe(spent)
	if err := g.settleOwed(ctx); err != nil {
		g.log.Warn("the end of an attempt is not booked: unless the call makes another attempt, what was held for it stays spent", "call", g.key.String(), "error", err)
	}
}

// owe keeps the end of an attempt until it is booked.
func (g *grants) owe(spent *budget.Amount) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.owed == nil { // if an earlier end is owed, no later attempt was reserved
		g.owed, g.owedID = &settlement{g.key, g.try, spent}, rand.Text()
	}
}

// last returns the end of the call's last attempt, nil if it is booked. The caller passes it on with the result.
func (g *grants) last() *settlement {
	g.mu.Lock()
	defer g.mu.Unlock()
	owed := g.owed
	g.owed = nil
	return owed
}

// settleOwed books the end of the last attempt, unless that is booked. The workflow applies it once.
func (g *grants) settleOwed(ctx context.Context) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.owed == nil {
		return nil
	}
	err := g.updateAs(ctx, g.owedID, settleUpdate, *g.owed, nil)
	if err == nil {
		g.owed = nil
	}
	return err
}

// reserve enters an attempt, and returns when it may be sent, or the reason why it may not. It
// waits by asking again and again: a workflow has at most ten updates under way, and waiting
// ones would keep out those that release budget.
func (g *grants) reserve(ctx context.Context, r reservation) (said answer, err error) {
	const first, longest = 50 * time.Millisecond, time.Second
	if err = g.settleOwed(ctx); err != nil {
		return said, err
	}
	err = g.updateAs(ctx, rand.Text(), reserveUpdate, r, &said)
	for pause := first; err == nil && said.refused == waitWord; pause = min(2*pause, longest) {
		if err = sleep.For(ctx, pause); err == nil {
			err = g.untilAnswered(ctx, func() error {
				return g.workflows.Query(ctx, g.workflow, g.run, permittedQuery, r, &said)
			})
		}
	}
	return said, err
}

// updateAs sends an update to the workflow, which applies the update of an ID once.
func (g *grants) updateAs(ctx context.Context, id, name string, arg, answer any) error {
	return g.untilAnswered(ctx, func() error {
		return g.workflows.Update(ctx, g.workflow, g.run, id, name, arg, answer)
	})
}

// untilAnswered repeats a request until the workflow answers, also while the server is away.
func (g *grants) untilAnswered(ctx context.Context, ask func() error) error {
	const pause = time.Second
	for {
		err := ask()
		if err == nil || ctx.Err() != nil || isMissing(err) {
			return err
		}
		if err := sleep.For(ctx, pause); err != nil {
			return err
		}
	}
}
