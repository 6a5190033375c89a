package configs

import (
	"fmt"
	"math"

	"gopkg.in/yaml.v3"

	"github.com/massgen/massgen/coordinator/budget"
)

// Budget is the most that may be spent: for each turn, and for all turns of a session
// together.
type Budget struct{ Turn, Session budget.Limits }

// None says that there are no limits.
func (b Budget) None() bool { return b.Turn.None() && b.Session.None() }

// Over returns b with the limits of c where b has none.
func (b Budget) Over(c Budget) Budget {
	over := func(l, m budget.Limits) budget.Limits {
		if l.USD == nil {
			l.USD = m.USD
		}
		if l.Tokens == nil {
			l.Tokens = m.Tokens
		}
		if l.Calls == nil {
			l.Calls = m.Calls
		}
		return l
	}
	return Budget{over(b.Turn, c.Turn), over(b.Session, c.Session)}
}

func budgetSection() section[Budget] {
	s := section[Budget]{keys: []key[Budget]{
		{"session", mapping(limitsSection, func(b *Budget) *budget.Limits { return &b.Session })},
	}}
	for _, k := range limitsSection().keys {
		s.keys = append(s.keys, key[Budget]{k.name, of(k.set, func(b *Budget) *budget.Limits { return &b.Turn })})
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

func (d *description) budget(b Budget) {
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
