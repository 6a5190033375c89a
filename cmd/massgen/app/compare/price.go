package compare

import (
	"context"
	"strings"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/configs"
	"github.com/massgen/massgen/internal/coordination/budget"
	"github.com/massgen/massgen/internal/models/providers"
)

// limit bounds the output of a panel's calls, so that the price of each is known before it is made.
func limit(config *configs.Config, most float64) {
	usd := budget.Dollars(most)
	if config.Budget.Turn.USD == nil || usd < *config.Budget.Turn.USD {
		config.Budget.Turn.USD = &usd
	}
}

// price returns the highest price of an answer with so many first calls and later ones. ok is false if a
// price is not known.
func (r *runner) price(ctx context.Context, u unit, first, later int) (usd float64, ok bool, err error) {
	if _, err := r.panel(ctx, u); err != nil { // it connects the models
		return 0, false, err
	}
	longest := ""
	for _, q := range r.plan.Questions {
		if len(q.Question) > len(longest) {
			longest = q.Question
		}
	}
	// An input has the prompts of a panel, and later ones the answers.
	const prompt, answer = 6000, 4000 // bytes
	n := len(u.config.Agents)
	dearest := 0.0
	sum, ok := 0.0, true
	for i, a := range u.config.Agents {
		b := r.models[a.ID]
		input := len(longest) + len(a.SystemMessage) + prompt
		cost := mostOf(ctx, b, a.Backend, input)
		if cost == nil {
			return 0, false, nil
		}
		if i < first {
			sum += *cost
		}
		if after := mostOf(ctx, b, a.Backend, input+n*answer); after != nil {
			dearest = max(dearest, *after)
		}
	}
	return sum + float64(later)*dearest, ok, nil
}

// mostOf returns the highest price of a call with so many bytes of input; nil if it is not known.
func mostOf(ctx context.Context, m providers.Model, of configs.Backend, bytes int) *float64 {
	probe := &probe{}
	req := backends.Request{Model: m.Name, Messages: []backends.Message{backends.User(strings.Repeat("word ", bytes/5))}, Params: of.Params}
	for _, err := range m.Backend.Stream(backends.WithBudget(ctx, probe), req) {
		if err != nil {
			break
		}
	}
	return probe.most
}

// probe is a budget that notes what an attempt would cost, and lets none through.
type probe struct{ most *float64 }

// Reserve implements backends.Budget.
func (p *probe) Reserve(_ context.Context, most, _ backends.Cost) (backends.Reservation, int, error) {
	p.most = most.USD
	return nil, 0, backends.Unpaid(backends.KindBudget, "the call is only reckoned", nil)
}
