package budget

import (
	"math/bits"
	"slices"
	"sort"
)

// Ledger is the account of one turn. Its zero value has no limits. It is not safe for
// concurrent use: one goroutine owns it.
type Ledger struct {
	Limits Allowance `json:"limits,omitzero"`
	// Spent is the known cost of attempts that ended. Kept is the hold of attempts that ended with
	// an unknown cost: it stays held.
	Spent Amount `json:"spent,omitzero"`
	Kept  Amount `json:"kept,omitzero"`
	// Unknown names the parts of Spent that are incomplete, because of calls from before there were
	// limits.
	Unknown Unknown `json:"unknown,omitzero"`
	// Over is the excess of the attempts' costs over their holds.
	Over Amount `json:"over,omitzero"`
	// Held are the attempts under way, and Waiting the attempts that do not fit yet, each in the
	// order of their requests.
	Held    []Hold `json:"held,omitempty"`
	Waiting []Hold `json:"waiting,omitempty"`
	// Needs are the lowest limits of the turn under which Refuse would not have refused an
	// attempt, zero without a refusal.
	Needs Amount `json:"needs,omitzero"`
	// Asked counts the attempts.
	Asked int `json:"asked,omitempty"`
}

// Hold is the amount that is held, or requested, for one attempt.
type Hold struct {
	Attempt int    `json:"attempt"`
	Most    Amount `json:"most"`
	// Least is the cost of a waiting attempt with the shortest useful output. If it is Most, or
	// zero, the output cannot be shortened.
	Least Amount `json:"least,omitzero"`
}

// span returns the number of output tokens by which an attempt can be shortened.
func (h Hold) span() int {
	if h.Least == (Amount{}) || h.Most.USD < h.Least.USD {
		return 0
	}
	return max(h.Most.Tokens-h.Least.Tokens, 0)
}

// shortened returns the most that an attempt costs with its output shortened by so many tokens, at
// most its span. Each token costs the same.
func (h Hold) shortened(less int) Amount {
	most := h.Most
	if less > 0 {
		high, low := bits.Mul64(uint64(h.Most.USD-h.Least.USD), uint64(less))
		saved, _ := bits.Div64(high, low, uint64(h.span()))
		most.USD -= USD(saved)
		most.Tokens -= less
	}
	return most
}

// Reserve reserves an attempt, and returns its number, from 1. The attempt may be made if granted is
// true. Otherwise it waits until other attempts have released enough. For least see Hold.
func (l *Ledger) Reserve(most, least Amount) (attempt int, granted bool) {
	l.Asked++
	hold := Hold{l.Asked, most, least}
	if l.lacks(most) != "" {
		l.Waiting = append(l.Waiting, hold)
		return hold.Attempt, false
	}
	l.hold(hold)
	return hold.Attempt, true
}

// Shorten grants a waiting attempt as much output as there is room for. It returns the number of
// tokens by which the output is shorter than requested. If a limit has no room even for Least,
// Shorten names that limit, and the attempt goes on waiting.
func (l *Ledger) Shorten(attempt int) (less int, why string) {
	i := slices.IndexFunc(l.Waiting, func(h Hold) bool { return h.Attempt == attempt })
	if i < 0 {
		return 0, "it does not wait"
	}
	h := l.Waiting[i]
	span := h.span()
	less = sort.Search(span, func(n int) bool { return l.lacks(h.shortened(n)) == "" })
	if why = l.lacks(h.shortened(less)); why != "" {
		return 0, why
	}
	l.Waiting = slices.Delete(l.Waiting, i, i+1)
	h.Most = h.shortened(less)
	l.hold(h)
	return less, ""
}

// Refuse ends waiting attempts that Shorten cannot grant. Needs becomes the need of the first one
// with its shortest output.
func (l *Ledger) Refuse(attempts ...int) {
	for i, attempt := range attempts {
		j := slices.IndexFunc(l.Waiting, func(h Hold) bool { return h.Attempt == attempt })
		if i == 0 && j >= 0 {
			h := l.Waiting[j]
			l.Needs = l.Used().Plus(h.shortened(h.span()))
		}
		l.End(attempt, nil)
	}
}

// hold holds the cost of a granted attempt.
func (l *Ledger) hold(h Hold) {
	h.Least = Amount{}
	l.Held = append(l.Held, h)
}

// End ends an attempt and returns the attempts that may be made now. spent is the attempt's cost; nil
// keeps its whole hold. A waiting attempt is forgotten. An unknown attempt changes nothing.
func (l *Ledger) End(attempt int, spent *Amount) (granted []int) {
	is := func(h Hold) bool { return h.Attempt == attempt }
	l.Waiting = slices.DeleteFunc(l.Waiting, is)
	i := slices.IndexFunc(l.Held, is)
	if i < 0 {
		return nil
	}
	most := l.Held[i].Most
	l.Held = slices.Delete(l.Held, i, i+1)
	if spent == nil {
		l.Kept = l.Kept.Plus(most)
	} else {
		l.Spent = l.Spent.Plus(*spent)
		l.Over = l.Over.Plus(spent.beyond(most))
	}
	return l.grant()
}

// Lose ends all attempts. Their outcome is unknown, so everything held is kept.
func (l *Ledger) Lose() {
	for _, h := range l.Held {
		l.Kept = l.Kept.Plus(h.Most)
	}
	l.Forget()
}

// Forget ends all attempts as if they had not been made.
func (l *Ledger) Forget() { l.Held, l.Waiting = nil, nil }

// Lacks names the limit that keeps an attempt waiting, with the attempt's cost and the rest of the
// limit, "" if the attempt does not wait.
func (l *Ledger) Lacks(attempt int) string {
	for _, h := range l.Waiting {
		if h.Attempt == attempt {
			return l.lacks(h.Most)
		}
	}
	return ""
}

// Used returns the whole amount that counts against the limits.
func (l *Ledger) Used() Amount {
	used := l.Spent.Plus(l.Kept)
	for _, h := range l.Held {
		used = used.Plus(h.Most)
	}
	return used
}

func (l *Ledger) lacks(most Amount) string { return l.Limits.lacks(l.Used(), most) }

// grant grants the waiting attempts that fit now, in the order of their requests. An attempt that
// does not fit does not hold up smaller ones behind it.
func (l *Ledger) grant() (granted []int) {
	l.Waiting = slices.DeleteFunc(l.Waiting, func(h Hold) bool {
		if l.lacks(h.Most) != "" {
			return false
		}
		l.hold(h)
		granted = append(granted, h.Attempt)
		return true
	})
	return granted
}
