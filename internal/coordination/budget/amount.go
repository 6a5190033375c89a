package budget

import (
	"cmp"
	"fmt"
	"math"
	"strings"
)

// USD is money in units of 1e-12 US dollars: sums of it are exact.
type USD int64

const perDollar = 1e12

// Dollars returns an amount in US dollars, rounded up. An amount that is too large becomes the
// largest USD.
func Dollars(f float64) USD {
	units := math.Ceil(math.Round(f*perDollar*1e3) / 1e3) // without a rest of binary fractions
	switch {
	case !(units < math.MaxInt64/4): // NaN too
		return math.MaxInt64 / 4
	case units < 0:
		return 0
	}
	return USD(units)
}

// Float returns the amount in US dollars.
func (u USD) Float() float64 { return float64(u) / perDollar }

// RoundUp returns the next amount that String shows exactly, in whole millionths of a dollar.
func (u USD) RoundUp() USD {
	const millionth = perDollar / 1_000_000
	if rest := u % millionth; rest > 0 {
		return sum(u, millionth-rest, math.MaxInt64)
	}
	return u
}

func (u USD) String() string {
	text := strings.TrimRight(fmt.Sprintf("%.6f", u.Float()), "0")
	if whole, cents, _ := strings.Cut(text, "."); len(cents) < 2 {
		text = whole + "." + (cents + "00")[:2]
	}
	return "$" + text
}

// Amount is a cost of calls.
type Amount struct {
	USD USD `json:"usd"`
	// Tokens counts input and output.
	Tokens int `json:"tokens"`
	// Calls counts requests.
	Calls int `json:"calls"`
}

// IsNegative reports whether a part of an amount is below 0.
func (a Amount) IsNegative() bool { return a.USD < 0 || a.Tokens < 0 || a.Calls < 0 }

// Plus returns the sum of two amounts that are not negative. A part that is too large becomes the
// largest number.
func (a Amount) Plus(b Amount) Amount {
	return Amount{sum(a.USD, b.USD, math.MaxInt64), sum(a.Tokens, b.Tokens, math.MaxInt), sum(a.Calls, b.Calls, math.MaxInt)}
}

func sum[N int | USD](a, b, most N) N {
	if a > most-b {
		return most
	}
	return a + b
}

// AtLeast returns the larger number of each part.
func (a Amount) AtLeast(b Amount) Amount {
	return Amount{max(a.USD, b.USD), max(a.Tokens, b.Tokens), max(a.Calls, b.Calls)}
}

// beyond returns the excess of a over b in each part, 0 where there is no excess.
func (a Amount) beyond(b Amount) Amount {
	return Amount{max(a.USD-b.USD, 0), max(a.Tokens-b.Tokens, 0), max(a.Calls-b.Calls, 0)}
}

// Limits are the most that may be spent; nil means no limit.
type Limits struct {
	USD    *USD `json:"usd,omitempty"`
	Tokens *int `json:"tokens,omitempty"`
	Calls  *int `json:"calls,omitempty"`
}

// None reports whether there is no limit.
func (l Limits) None() bool { return l == Limits{} }

// left returns the limits minus a spent amount, at least 0.
func (l Limits) left(spent Amount) Limits {
	return Limits{left(l.USD, spent.USD), left(l.Tokens, spent.Tokens), left(l.Calls, spent.Calls)}
}

// tighter returns the smaller limit of each part.
func (l Limits) tighter(m Limits) Limits {
	return Limits{tighter(l.USD, m.USD), tighter(l.Tokens, m.Tokens), tighter(l.Calls, m.Calls)}
}

// over returns l with the limits of m where l has no limit.
func (l Limits) over(m Limits) Limits {
	return Limits{cmp.Or(l.USD, m.USD), cmp.Or(l.Tokens, m.Tokens), cmp.Or(l.Calls, m.Calls)}
}

// lacks names the limit that is too low for a further amount beside the used one, and says by how
// much; it returns "" if there is no such limit. A prefix tells whose limit it is.
func (l Limits) lacks(whose string, used, most Amount) string {
	sum, rest := used.Plus(most), l.left(used)
	switch {
	case l.USD != nil && sum.USD > *l.USD:
		return fmt.Sprintf("it may cost %s, and %s of %smax_usd %s is left", most.USD, *rest.USD, whose, *l.USD)
	case l.Tokens != nil && sum.Tokens > *l.Tokens:
		return fmt.Sprintf("it may take %d tokens, and %d of %smax_tokens %d are left", most.Tokens, *rest.Tokens, whose, *l.Tokens)
	case l.Calls != nil && sum.Calls > *l.Calls:
		return fmt.Sprintf("%d of %smax_calls %d are left", *rest.Calls, whose, *l.Calls)
	}
	return ""
}

func left[N int | USD](limit *N, spent N) *N {
	if limit == nil {
		return nil
	}
	rest := max(*limit-spent, 0)
	return &rest
}

func tighter[N int | USD](a, b *N) *N {
	if a == nil || b != nil && *b < *a {
		return b
	}
	return a
}

// Request returns the cost of one request with so many tokens. A nil usd is an unknown price, which
// counts as 0.
func Request(tokens int, usd *float64) Amount {
	a := Amount{Tokens: tokens, Calls: 1}
	if usd != nil {
		a.USD = Dollars(*usd)
	}
	return a
}
