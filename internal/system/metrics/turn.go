package metrics

import "time"

// Turn is a turn that is over.
type Turn struct {
	Model, Status string
	Took          time.Duration
	// Input includes the Cached tokens, and Output the Reasoning ones.
	Input, Output, Cached, Reasoning int
	CostUSD                          *float64 // nil if it is not known
}

// ExpectTurns makes the series of a panel's turns exist, for the statuses that turns may have.
func ExpectTurns(r *Registry, model string, statuses ...string) {
	r.Expect(TurnsRunning(), "model", model)
	r.Expect(TurnDuration(), "model", model)
	r.Expect(CostTotal(), "model", model)
	r.Expect(TurnsUnpricedTotal(), "model", model)
	for _, status := range statuses {
		r.Expect(TurnsTotal(), "model", model, "status", status)
	}
	for _, kind := range []string{"input", "output", "cached_input", "reasoning_output"} {
		r.Expect(TokensTotal(), "model", model, "kind", kind)
	}
}

// Count counts the turn in r.
func (t Turn) Count(r *Registry) {
	r.Add(TurnsTotal(), 1, "model", t.Model, "status", t.Status)
	r.Observe(TurnDuration(), t.Took.Seconds(), "model", t.Model)
	for _, k := range []struct {
		kind   string
		tokens int
	}{{"input", t.Input}, {"output", t.Output}, {"cached_input", t.Cached}, {"reasoning_output", t.Reasoning}} {
		r.Add(TokensTotal(), float64(k.tokens), "model", t.Model, "kind", k.kind)
	}
	cost, unpriced := 0.0, 1.0
	if t.CostUSD != nil {
		cost, unpriced = *t.CostUSD, 0
	}
	r.Add(CostTotal(), cost, "model", t.Model)
	r.Add(TurnsUnpricedTotal(), unpriced, "model", t.Model)
}
