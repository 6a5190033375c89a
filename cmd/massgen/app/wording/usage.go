package wording

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/massgen/massgen/internal/coordination/budget"
	"github.com/massgen/massgen/internal/system/plain"
)

// Duration returns seconds with one decimal.
func Duration(d time.Duration) string { return fmt.Sprintf("%.1f s", d.Seconds()) }

// Usage returns how many calls there were, their tokens and their cost. A call without a report of its
// tokens counts as unknown.
func Usage(u budget.Usage) string {
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
		parts = append(parts, dollars(*u.CostUSD))
	}
	return strings.Join(parts, " · ")
}

// dollars shows cents, and of less than ten of them two figures.
func dollars(d float64) string {
	if d >= 0.1 {
		return fmt.Sprintf("$%.2f", d)
	}
	decimals := 1 - int(math.Floor(math.Log10(d)))
	return fmt.Sprintf("$%.*f", decimals, d)
}

// Cost returns the cost of calls, "unknown" if a model has no price.
func Cost(u budget.Usage) string {
	switch {
	case u.CostUSD != nil && *u.CostUSD > 0:
		return dollars(*u.CostUSD)
	case u.CostUSD == nil && u.Calls > 0:
		return "unknown"
	}
	return "$0"
}
