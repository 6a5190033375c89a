package turn

import (
	"fmt"
	"slices"

	"github.com/massgen/massgen/internal/coordination/budget"
	"github.com/massgen/massgen/internal/coordination/effect"
	"github.com/massgen/massgen/internal/coordination/kernel"
)

// Reserving is an attempt of a model call that may cost Most and requests budget. It gets one
// Granted or Refused, at once or after a HeldUp. Only turns with a budget have it. A call has
// one attempt at a time.
type Reserving struct {
	At   kernel.Time   `json:"at"`
	Key  effect.Key    `json:"key"`
	Most budget.Amount `json:"most"`
	// Least is the cost of the attempt with the shortest useful output. If it is Most, or zero
	// as in journals of older versions, the output cannot be shortened.
	Least budget.Amount `json:"least,omitzero"`
}

// Settled is the end of an attempt that was granted, or that was given up while it waited.
type Settled struct {
	At  kernel.Time `json:"at"`
	Key effect.Key  `json:"key"`
	// Spent is the attempt's cost, nil if unknown: then the whole reservation is spent.
	Spent *budget.Amount `json:"spent,omitempty"`
}

// Resumed is a process that resumes a turn of another process. Calls under way are made again,
// and may be paid for twice.
type Resumed struct {
	At kernel.Time `json:"at"`
	// Branched reports whether the journal is a copy of a turn that went on elsewhere: nothing was
	// lost, and the other turn pays for its calls under way.
	Branched bool `json:"branched,omitempty"`
	// Budget is the most that the turn may spend from now on, with its spending so far. Without
	// limits, the budget stays the same.
	Budget budget.Allowance `json:"budget,omitzero"`
}

// Lost is a model call whose worker was lost while the turn went on: the call is made
// again, and may be paid for twice.
type Lost struct {
	At  kernel.Time `json:"at"`
	Key effect.Key  `json:"key"`
}

func (e Reserving) When() kernel.Time { return e.At }
func (e Settled) When() kernel.Time   { return e.At }
func (e Resumed) When() kernel.Time   { return e.At }
func (e Lost) When() kernel.Time      { return e.At }

// Granted lets a call's attempt be sent, with its output shortened by Less tokens.
type Granted struct {
	Key  effect.Key
	Less int
}

// HeldUp reports that a call's attempt waits for the reservations of others, and for which limit.
type HeldUp struct {
	Key effect.Key
	Why string
}

// Refused reports that a call's attempt is never sent, and why.
type Refused struct {
	Key effect.Key
	Why string
}

// account is the turn's ledger, with the keys of its attempts.
type account struct {
	Ledger   budget.Ledger `json:"ledger,omitzero"`
	Attempts []attempt     `json:"attempts,omitempty"`
	// Repeated counts the model calls that were under way when their process was lost.
	Repeated int `json:"repeated,omitempty"`
}

// attempt maps an attempt of the ledger to its call.
type attempt struct {
	Number int        `json:"number"`
	Key    effect.Key `json:"key"`
}

// Ledger returns the account of the turn's spending.
func (m *Machine) Ledger() budget.Ledger { return m.s.Account.Ledger }

// Repeated counts the model calls that were under way when a process was lost, and that another
// process has made again.
func (m *Machine) Repeated() int { return m.s.Account.Repeated }

func (m *Machine) reserving(ev Reserving) error {
	a := &m.s.Account
	if !m.isOut(ev.Key) || m.attempt(ev.Key) >= 0 {
		// Nobody pays for an attempt of a call that was abandoned, or that has an attempt
		// already.
		m.out = append(m.out, Refused{ev.Key, "the call is not waited for any more"})
		return nil
	}
	number, granted := a.Ledger.Reserve(ev.Most, ev.Least)
	a.Attempts = append(a.Attempts, attempt{number, ev.Key})
	if granted {
		m.out = append(m.out, Granted{Key: ev.Key})
		return nil
	}
	m.out = append(m.out, HeldUp{ev.Key, a.Ledger.Lacks(number)})
	return nil
}

func (m *Machine) settled(ev Settled) error {
	i := m.attempt(ev.Key)
	if i < 0 {
		return nil // it was refused, or its process was lost
	}
	a := &m.s.Account
	number := a.Attempts[i].Number
	a.Attempts = slices.Delete(a.Attempts, i, i+1)
	for _, granted := range a.Ledger.End(number, ev.Spent) {
		j := slices.IndexFunc(a.Attempts, func(a attempt) bool { return a.Number == granted })
		m.out = append(m.out, Granted{Key: a.Attempts[j].Key})
	}
	return nil
}

// resumed books the calls under way, and sets the limits that hold now.
func (m *Machine) resumed(ev Resumed) error {
	defer m.goOn()
	a := &m.s.Account
	unsent := m.unsent()
	a.Attempts = nil
	if ev.Branched {
		a.Ledger.Forget()
	} else {
		a.Ledger.Lose()
		for _, key := range m.sent(unsent) {
			m.s.Account.Repeated++
			m.book(key.Agent, budget.Usage{Calls: 1, UnknownCalls: 1})
		}
	}
	if ev.Budget.None() {
		return nil
	}
	if a.Ledger.Limits.None() { // it has counted nothing so far
		a.Ledger.Unknown = m.AllUsage().Unknown()
		a.Ledger.Spent = m.AllUsage().Amount()
	}
	a.Ledger.Limits = ev.Budget
	return nil
}

// unsent returns the attempts that wait for the budget.
func (m *Machine) unsent() []attempt {
	return slices.DeleteFunc(slices.Clone(m.s.Account.Attempts), func(a attempt) bool { return !m.isUnsent(a) })
}

// sent returns the model calls under way, without those that a pause holds or that wait for the
// budget.
func (m *Machine) sent(unsent []attempt) []effect.Key {
	return slices.DeleteFunc(m.calls(), func(key effect.Key) bool {
		return m.isHeld(key) || slices.ContainsFunc(unsent, func(a attempt) bool { return a.Key == key })
	})
}

// CutUsage is the usage of a turn that nothing continues: AllUsage, with the calls under way as
// made and of unknown cost, except those that wait for the budget.
func (m *Machine) CutUsage() budget.Usage {
	lost := len(m.sent(m.unsent()))
	return m.AllUsage().Plus(budget.Usage{Calls: lost, UnknownCalls: lost})
}

// Unknown names the parts of the ledger that are not known in full. If lost is true, calls
// under way count as made: a ledger with limits has their tokens, and their cost where a price
// is known.
func (m *Machine) Unknown(lost bool) budget.Unknown {
	ledger := &m.s.Account.Ledger
	switch {
	case ledger.Limits.None() && lost:
		return m.CutUsage().Unknown()
	case ledger.Limits.None():
		return m.AllUsage().Unknown()
	case ledger.Limits.Priced():
		return ledger.Unknown
	}
	unpriced := lost && slices.ContainsFunc(ledger.Held, func(h budget.Hold) bool { return h.Most.USD == 0 })
	return ledger.Unknown.Or(budget.Unknown{USD: unpriced || m.AllUsage().Unknown().USD})
}

// AllUsage adds up the calls of all agents, and the sidecalls.
func (m *Machine) AllUsage() budget.Usage {
	all := m.s.Sidecalls.Usage.Plus(m.s.Sidecalls.Following)
	for _, u := range m.s.Usage {
		all = all.Plus(u)
	}
	return all
}

// lost books a call under way as made and of unknown cost, unless it waited for the budget.
func (m *Machine) lost(ev Lost) error {
	if !m.isOut(ev.Key) {
		return fmt.Errorf("no effect %s is out", ev.Key)
	}
	if !slices.ContainsFunc(m.waiting(), func(a attempt) bool { return a.Key == ev.Key }) {
		m.s.Account.Repeated++
		m.book(ev.Key.Agent, budget.Usage{Calls: 1, UnknownCalls: 1})
	}
	return m.settled(Settled{At: ev.At, Key: ev.Key})
}

// calls returns the model calls under way.
func (m *Machine) calls() (list []effect.Key) {
	for _, a := range m.s.Sidecalls.Waiting {
		list = append(list, a.Key())
	}
	for _, s := range m.s.Steps {
		if s == nil {
			continue
		}
		if key, ok := s.Step.Calling(); ok {
			list = append(list, key)
		}
	}
	return list
}

// checkBudget decides when attempts that do not fit the budget are all that is left. Before
// that, other work may still release budget, and its results are used. The first attempt that
// fits with a shorter output is sent so, and the others wait for its release. If there is none,
// the turn ends.
func (m *Machine) checkBudget(at kernel.Time) error {
	waiting := m.waiting()
	if len(waiting) == 0 || len(waiting) < m.underWay() {
		return nil
	}
	ledger := &m.s.Account.Ledger
	var refused []Command
	for _, a := range waiting {
		less, why := ledger.Shorten(a.Number)
		if why == "" {
			m.grantShortened(Granted{a.Key, less})
			return nil
		}
		refused = append(refused, Refused{a.Key, "it does not fit into the budget: " + why})
	}
	m.out = append(m.out, refused...)
	numbers := make([]int, len(waiting))
	for i, a := range waiting {
		numbers[i] = a.Number
	}
	ledger.Refuse(numbers...)
	m.s.Account.Attempts = slices.DeleteFunc(m.s.Account.Attempts, func(a attempt) bool { return slices.Contains(waiting, a) })
	if len(m.s.Sidecalls.Waiting) > 0 || m.Over() {
		return nil // those come to nothing, and the turn goes on
	}
	return m.decide(kernel.BudgetSpent{At: at})
}

// grantShortened lets an attempt be sent. If the same event entered the attempt, it has not
// waited, and no HeldUp is published.
func (m *Machine) grantShortened(g Granted) {
	m.out = slices.DeleteFunc(m.out, func(c Command) bool {
		held, ok := c.(HeldUp)
		return ok && held.Key == g.Key
	})
	m.out = append(m.out, g)
}

// waiting returns the attempts that do not fit, of calls that are neither abandoned nor
// cancelled: cancelled calls return by themselves.
func (m *Machine) waiting() (list []attempt) {
	for _, a := range m.s.Account.Attempts {
		if m.isUnsent(a) && m.isOut(a.Key) && !m.isCancelled(a.Key.Agent) {
			list = append(list, a)
		}
	}
	return list
}

// isUnsent reports whether an attempt has not been granted.
func (m *Machine) isUnsent(a attempt) bool { return m.s.Account.Ledger.Lacks(a.Number) != "" }

// isCancelled reports whether a working agent's calls were cancelled.
func (m *Machine) isCancelled(agent int) bool {
	if agent == effect.NoAgent {
		return m.s.Sidecalls.Interrupted
	}
	return m.s.Steps[agent].Step.Cancelled()
}

// underWay counts the effects under way, and the questions that wait for a person.
func (m *Machine) underWay() int {
	n := len(m.s.Sidecalls.Waiting)
	for _, s := range m.s.Steps {
		if s != nil {
			n += s.Step.Out()
		}
	}
	return n
}

// isOut reports whether the machine waits for the result of a call.
func (m *Machine) isOut(key effect.Key) bool {
	if key.Agent == effect.NoAgent {
		return !m.isHeld(key) && slices.ContainsFunc(m.s.Sidecalls.Waiting, func(a effect.Sidecall) bool { return a.Key() == key })
	}
	return m.checkOut(key) == nil
}

// attempt returns the place of a call's attempt, -1 if it has none.
func (m *Machine) attempt(key effect.Key) int {
	return slices.IndexFunc(m.s.Account.Attempts, func(a attempt) bool { return a.Key == key })
}
