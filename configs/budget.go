package configs

import (
	"fmt"
	"math"

	"gopkg.in/yaml.v3"

	"github.com/massgen/massgen/internal/budget"
)

func budgetSection() section[budget.Budget] {
	s := section[budget.Budget]{keys: []key[budget.Budget]{
		{"session", mapping(limitsSection, func(b *budget.Budget) *budget.Limits { return &b.Session })},
	}}
	for _, k := range limitsSection().keys {
		s.keys = append(s.keys, key[budget.Budget]{k.name, of(k.item, func(b *budget.Budget) *budget.Limits { return &b.Turn })})
	}
	return s
}

// of is an item of a part, for what the part stands in.
func of[T, S any](i item[S], part func(*T) *S) item[T] {
	out := by(func(r *reader, at string, n *yaml.Node, t *T) { i.read(r, at, n, part(t)) })
	if i.show != nil {
		out.show = func(t *T) string { return i.show(part(t)) }
	}
	return out
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
