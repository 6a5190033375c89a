package configs

import (
	"fmt"
	"math"

	"gopkg.in/yaml.v3"

	"github.com/massgen/massgen/coordinator/budget"
)

func budgetSection() section[budget.Budget] {
	s := section[budget.Budget]{keys: []key[budget.Budget]{
		{"session", mapping(limitsSection, func(b *budget.Budget) *budget.Limits { return &b.Session })},
	}}
	for _, k := range limitsSection().keys {
		s.keys = append(s.keys, key[budget.Budget]{k.name, of(k.set, func(b *budget.Budget) *budget.Limits { return &b.Turn })})
	}
	return s
}

// of reads a key into a part of what it stands in.
func of[T, S any](set func(*reader, string, *yaml.Node, *S), part func(*T) *S) func(*reader, string, *yaml.Node, *T) {
	return func(r *reader, at string, n *yaml.Node, t *T) { set(r, at, n, part(t)) }
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

func (d *description) budget(b budget.Budget) {
	if b.None() {
		return
	}
	d.head("budget")
	for _, l := range []struct {
		prefix string
		limits budget.Limits
	}{{"", b.Turn}, {"session ", b.Session}} {
		if l.limits.USD != nil {
			d.row(l.prefix+"max_usd", *l.limits.USD)
		}
		if l.limits.Tokens != nil {
			d.row(l.prefix+"max_tokens", *l.limits.Tokens)
		}
		if l.limits.Calls != nil {
			d.row(l.prefix+"max_calls", *l.limits.Calls)
		}
	}
}
