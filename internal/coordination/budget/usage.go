package budget

// Usage adds up model calls. UnknownCalls counts the calls without a known usage; their tokens are
// not in the sums.
type Usage struct {
	Calls             int `json:"calls"`
	InputTokens       int `json:"input_tokens"`
	OutputTokens      int `json:"output_tokens"`
	CachedInputTokens int `json:"cached_input_tokens"`
	// ReasoningTokens is the part of OutputTokens that models spent on thinking.
	ReasoningTokens int `json:"reasoning_tokens,omitempty"`
	UnknownCalls    int `json:"unknown_calls"`
	// CostUSD is the sum in US dollars. It is nil if the cost of one call is unknown, and without
	// calls.
	CostUSD *float64 `json:"cost_usd"`
}

// Plus returns the sum of two usages, whose cost is known if both are.
func (u Usage) Plus(v Usage) Usage {
	sum := Usage{
		Calls:             u.Calls + v.Calls,
		InputTokens:       u.InputTokens + v.InputTokens,
		OutputTokens:      u.OutputTokens + v.OutputTokens,
		CachedInputTokens: u.CachedInputTokens + v.CachedInputTokens,
		ReasoningTokens:   u.ReasoningTokens + v.ReasoningTokens,
		UnknownCalls:      u.UnknownCalls + v.UnknownCalls,
	}
	if sum.Calls > 0 && !u.Unknown().USD && !v.Unknown().USD {
		cost := u.cost() + v.cost()
		sum.CostUSD = &cost
	}
	return sum
}

// cost returns the known cost in US dollars.
func (u Usage) cost() float64 {
	if u.Calls == 0 || u.CostUSD == nil {
		return 0
	}
	return *u.CostUSD
}

// Unknown names the parts of Amount that are incomplete.
func (u Usage) Unknown() Unknown {
	return Unknown{USD: u.Calls > 0 && u.CostUSD == nil, Tokens: u.UnknownCalls > 0}
}

// Amount returns the known cost of the calls.
func (u Usage) Amount() Amount {
	a := Amount{Tokens: u.InputTokens + u.OutputTokens, Calls: u.Calls}
	if u.CostUSD != nil {
		a.USD = Dollars(*u.CostUSD)
	}
	return a
}
