package providers

import (
	"fmt"

	"github.com/massgen/massgen/backends"
)

// budgetedOutput is the most output of a call that does not say how much it may have,
// where there is a budget (DESIGN §6).
const budgetedOutput = 8192

// Bounded gives calls a most of output, which a budget has to know before they are sent.
func (r *Resolver) Bounded(m Model, p backends.Params) backends.Params {
	if r.Config.Budget.None() || p.MaxTokens != nil {
		return p
	}
	most := budgetedOutput
	if m.MaxOutput > 0 {
		most = min(most, m.MaxOutput)
	}
	p.MaxTokens = &most
	return p
}

// checkPrice refuses a model of unknown price where money is limited.
func (r *Resolver) checkPrice(provider, model string) error {
	if !r.Config.Budget.Priced() {
		return nil
	}
	if known, _ := r.prices.Lookup(provider, model); len(known.Rates) == 0 {
		return fmt.Errorf("max_usd needs to know what %s/%s costs, and no table has it: state it with the key prices", provider, model)
	}
	return nil
}

// most is what an attempt costs at most.
func (r *Resolver) most(provider string) func(backends.Request) backends.Cost {
	return func(req backends.Request) backends.Cost {
		input := r.vocabularies.Counter(provider, req.Model).Request(req).Tokens
		output := budgetedOutput
		if req.Params.MaxTokens != nil {
			output = *req.Params.MaxTokens
		}
		model, _ := r.prices.Lookup(provider, req.Model)
		return backends.Cost{Tokens: input + output, USD: model.Most(input, output)}
	}
}
