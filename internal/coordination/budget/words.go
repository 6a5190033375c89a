package budget

import (
	"fmt"
	"math"
	"strings"

	"github.com/massgen/massgen/internal/system/plain"
)

// Words returns how many calls there were, their tokens and their cost. A call without a report of its
// tokens counts as unknown.
func (u Usage) Words() string {
	parts := []string{plain.Count(u.Calls, "call")}
	if u.UnknownCalls < u.Calls {
		tokens := fmt.Sprintf("%s in, %s out tokens", plain.Thousands(u.InputTokens), plain.Thousands(u.OutputTokens))
		if u.ReasoningTokens > 0 {
			tokens += fmt.Sprintf(" (%s reasoning)", plain.Thousands(u.ReasoningTokens))
		}
		parts = append(parts, tokens)
	}
	if u.UnknownCalls > 0 {
		parts = append(parts, fmt.Sprintf("tokens of %s unknown", plain.Count(u.UnknownCalls, "call")))
	}
	if u.CostUSD != nil && *u.CostUSD > 0 {
		parts = append(parts, price(*u.CostUSD))
	}
	return strings.Join(parts, " · ")
}

// Price returns the cost of calls, "unknown" if a model has no price.
func (u Usage) Price() string {
	switch {
	case u.CostUSD != nil && *u.CostUSD > 0:
		return price(*u.CostUSD)
	case u.CostUSD == nil && u.Calls > 0:
		return "unknown"
	}
	return "$0"
}

// price shows cents, and two figures of less than ten cents.
func price(d float64) string {
	if d >= 0.1 {
		return fmt.Sprintf("$%.2f", d)
	}
	decimals := 1 - int(math.Floor(math.Log10(d)))
	return fmt.Sprintf("$%.*f", decimals, d)
}
