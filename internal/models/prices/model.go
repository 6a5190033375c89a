package prices

import (
	"math"

	"github.com/massgen/massgen/backends"
)

// Model is what the table, or a config, has about a model.
type Model struct {
	Provider string
	Name     string
	// Rates are its prices, from short calls to long ones; empty where they are not
	// known.
	Rates []Rate
	// ContextWindow is how many tokens a call may have, as the provider counts them,
	// and MaxOutput how many of them it may write; 0 where that is not known.
	ContextWindow int
	MaxOutput     int
	// Hosted are a config's prices of hosted tools, by their names in package backends.
	Hosted map[string]Fee
}

// Rate is what tokens cost, in US dollars per million.
type Rate struct {
	// Above is the number of input tokens which a call has to exceed for this rate.
	Above int
	// CachedInput is for input that was read from a cache, CacheWrite for input that
	// was written to one, and Input for all other.
	Input, CachedInput, CacheWrite, Output float64
}

// hourWrite is what input costs that a cache keeps for an hour. Claude, which alone has that,
// takes twice the price of input ("Pricing" in the docs of the API).
func (r Rate) hourWrite() float64 { return max(r.CacheWrite, 2*r.Input) }

const perMillion = 1e-6

// Most returns what a call costs at most that sends so many tokens of input and may
// have so many of output, in US dollars, or nil if the price is unknown. Input that is
// written to a cache may cost more than other, the most if it is kept for an hour.
func (m Model) Most(input, output int, cacheHour bool) *float64 {
	if len(m.Rates) == 0 {
		return nil
	}
	rate := m.rate(input)
	dearest := max(rate.Input, rate.CacheWrite, rate.CachedInput)
	if cacheHour {
		dearest = max(dearest, rate.hourWrite())
	}
	return dollars(dearest*float64(input) + rate.Output*float64(output))
}

// rate is the one for so many tokens of input.
func (m Model) rate(input int) Rate {
	rate := m.Rates[0]
	for _, r := range m.Rates {
		if input > r.Above {
			rate = r
		}
	}
	return rate
}

// dollars is an amount in US dollars, of what was reckoned with prices per million.
func dollars(millionth float64) *float64 {
	cost := math.Round(millionth*perMillion*1e12) / 1e12 // without a rest of binary fractions
	return &cost
}

// Cost returns what a call cost in US dollars, or nil if that is unknown: because
// the usage is (nil), or the model's price.
func (m Model) Cost(u *backends.Usage) *float64 {
	if u == nil || len(m.Rates) == 0 {
		return nil
	}
	rate := m.rate(u.InputTokens)
	other := max(u.InputTokens-u.CachedInputTokens-u.CacheWriteTokens, 0)
	return dollars(rate.Input*float64(other) + rate.CachedInput*float64(u.CachedInputTokens) +
		rate.CacheWrite*float64(u.CacheWriteTokens-u.CacheHourTokens) + rate.hourWrite()*float64(u.CacheHourTokens) +
		rate.Output*float64(u.OutputTokens))
}
