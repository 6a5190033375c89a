package configs

import (
	"fmt"
	"math"

	"github.com/massgen/massgen/internal/coordination/budget"
)

func budgetSection() section[budget.Budget] {
	session := mapping(limitsSection, func(b *budget.Budget) *budget.Limits { return &b.Session })
	turn := within(limitsSection().keys, func(b *budget.Budget) *budget.Limits { return &b.Turn })
	return section[budget.Budget]{keys: append([]key[budget.Budget]{{"session", session}}, turn...)}
}

func limitsSection() section[budget.Limits] {
	return section[budget.Limits]{keys: []key[budget.Limits]{
		{"max_usd", optional(dollars(), func(l *budget.Limits) **budget.USD { return &l.USD })},
		{"max_tokens", optional(integer[int](0, math.MaxInt32), func(l *budget.Limits) **int { return &l.Tokens })},
		{"max_calls", optional(integer[int](0, math.MaxInt32), func(l *budget.Limits) **int { return &l.Calls })},
	}}
}

// MostUSD is the largest amount that a budget may have, in US dollars.
const MostUSD = 1_000_000

func dollars() parser[budget.USD] {
	return parser[budget.USD]{fmt.Sprintf("a number of US dollars from 0 to %d", MostUSD), func(s scalar) (budget.USD, bool) {
		v, ok := s.float()
		return budget.Dollars(v), ok && v >= 0 && v <= MostUSD
	}}
}
