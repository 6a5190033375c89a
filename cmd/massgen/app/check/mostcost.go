package check

import (
	"github.com/massgen/massgen/configs"
	"github.com/massgen/massgen/internal/coordination/kernel"
	"github.com/massgen/massgen/internal/models/prices"
	"github.com/massgen/massgen/internal/models/providers"
)

// mostUSD returns what the model calls of a turn cost at most, in US dollars, without calls for tools and
// repeated ones: each fills its model's context window and writes as much as it may. It is nil if a price,
// a window or a limit of output is unknown.
func mostUSD(c *configs.Config, models []providers.Model) (*float64, error) {
	table, err := prices.New(c.Prices)
	if err != nil {
		return nil, err
	}
	most, rules := c.MostCalls(), c.Orchestrator.Rules
	cost := func(provider, name string, window, output int, b configs.Backend) *float64 {
		known, ok := table.Lookup(provider, name)
		if b.Params.MaxTokens != nil {
			output = *b.Params.MaxTokens
		}
		switch {
		case len(known.Rates) == 1 && known.Rates[0] == prices.Rate{}:
			return new(float64)
		case !ok || window == 0 || output == 0:
			return nil
		}
		return known.Most(window, output, false)
	}
	// A consultant outside of the panel is looked up by the names in the config.
	outside := func(b configs.Backend) *float64 {
		known, _ := table.Lookup(b.Type, b.Model)
		return cost(b.Type, b.Model, known.ContextWindow, known.MaxOutput, b)
	}
	sum := sumOfCosts{}
	var dearest *float64
	var judge *float64
	for i, m := range models {
		each := cost(m.Provider, m.Name, m.Window, m.MaxOutput, c.Agents[i].Backend)
		sum.add(most.Each, each)
		if dearest == nil || each != nil && *each > *dearest {
			dearest = each
		}
		if c.Agents[i].ID == rules.Judge {
			judge = each
		}
	}
	if rules.Judge == kernel.JudgeID {
		judge = outside(c.Orchestrator.Judge.Backend)
	}
	sum.add(most.Final, dearest)
	sum.add(most.Judge, judge)
	sum.add(most.Verdict, outside(c.Orchestrator.Verdict))
	return sum.usd(), nil
}

// sumOfCosts is a sum of which a part may be unknown.
type sumOfCosts struct {
	sum       float64
	isUnknown bool
}

func (s *sumOfCosts) add(calls int, each *float64) {
	switch {
	case calls == 0:
	case each == nil:
		s.isUnknown = true
	default:
		s.sum += float64(calls) * *each
	}
}

func (s *sumOfCosts) usd() *float64 {
	if s.isUnknown {
		return nil
	}
	return &s.sum
}
