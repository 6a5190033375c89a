package budget

import "slices"

// Ledger is the account of one turn. Its zero value has no limits. It is not safe for
// concurrent use: one goroutine owns it.
type Ledger struct {
	Limits Allowance `json:"limits,omitzero"`
	// Spent is what was told of attempts that ended, Kept what is held for good: of those
	// of which nothing was told.
	Spent Amount `json:"spent,omitzero"`
	Kept  Amount `json:"kept,omitzero"`
	// Unknown is what Spent does not have all of, of calls that were made before there were
	// limits.
	Unknown Unknown `json:"unknown,omitzero"`
	// Over is by how much attempts have cost more than was held for them.
	Over Amount `json:"over,omitzero"`
	// Held are the attempts under way, Waiting those that do not fit yet, each in the order
	// in which they asked.
	Held    []Hold `json:"held,omitempty"`
	Waiting []Hold `json:"waiting,omitempty"`
	// Asked counts the attempts.
	Asked int `json:"asked,omitempty"`
}

// Hold is what is held, or asked for, for one attempt.
type Hold struct {
	Attempt int    `json:"attempt"`
	Most    Amount `json:"most"`
}

// Ask asks for an attempt, and returns its number, from 1. It may be made if it is
// granted; else it waits until enough of what others hold has come back.
func (l *Ledger) Ask(most Amount) (attempt int, granted bool) {
	l.Asked++
	hold := Hold{l.Asked, most}
	if l.lacks(most) != "" {
		l.Waiting = append(l.Waiting, hold)
		return hold.Attempt, false
	}
	l.Held = append(l.Held, hold)
	return hold.Attempt, true
}

// End ends an attempt and returns those that may be made now. With spent it is what the
// attempt cost; nil keeps all that was held for it. One that only waits is forgotten. An
// attempt that is not known changes nothing.
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

// Lose ends all attempts: nobody knows what became of them, so all that is held is kept.
func (l *Ledger) Lose() {
	for _, h := range l.Held {
		l.Kept = l.Kept.Plus(h.Most)
	}
	l.Forget()
}

// Forget ends all attempts as if they had not been made.
func (l *Ledger) Forget() { l.Held, l.Waiting = nil, nil }

// Lacks says which limit keeps an attempt waiting, what the attempt may cost and what is
// left, "" if it does not wait.
func (l *Ledger) Lacks(attempt int) string {
	for _, h := range l.Waiting {
		if h.Attempt == attempt {
			return l.lacks(h.Most)
		}
	}
	return ""
}

// Used is all that counts against the limits.
func (l *Ledger) Used() Amount {
	used := l.Spent.Plus(l.Kept)
	for _, h := range l.Held {
		used = used.Plus(h.Most)
	}
	return used
}

func (l *Ledger) lacks(most Amount) string { return l.Limits.lacks(l.Used(), most) }

// grant lets those pass that fit now, in the order in which they asked. One that does not
// fit does not hold up smaller ones behind it.
func (l *Ledger) grant() (granted []int) {
	l.Waiting = slices.DeleteFunc(l.Waiting, func(h Hold) bool {
		if l.lacks(h.Most) != "" {
			return false
		}
		l.Held = append(l.Held, h)
		granted = append(granted, h.Attempt)
		return true
	})
	return granted
}
