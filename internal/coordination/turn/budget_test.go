package turn_test

import (
	"pgregory.net/rapid"

	"github.com/massgen/massgen/internal/coordination/budget"
	"github.com/massgen/massgen/internal/coordination/effect"
	"github.com/massgen/massgen/internal/coordination/turn"
)

// spending are the attempts of a play with a budget.
type spending struct {
	limits   budget.Limits
	attempts map[effect.Key]attemptState
	most     map[effect.Key]budget.Amount
	least    map[effect.Key]budget.Amount
	// billed is what the services may have asked for.
	billed budget.Amount
}

// attemptState is how far the attempt of a call is; a call without one has not asked.
type attemptState int

const (
	attemptWaits attemptState = iota + 1
	attemptRuns
	attemptRefused
	attemptOver
)

func drawLimits(t *rapid.T) budget.Limits {
	if rapid.Bool().Draw(t, "unlimited") {
		return budget.Limits{}
	}
	usd, calls := budget.USD(rapid.IntRange(0, 100).Draw(t, "max_usd")), rapid.IntRange(0, 20).Draw(t, "max_calls")
	return budget.Limits{USD: &usd, Calls: &calls}
}

// drawAllowance says which of the limits are the turn's own, and which are what is left of
// its session's.
func drawAllowance(t *rapid.T, limits budget.Limits) budget.Allowance {
	if limits.None() || rapid.Bool().Draw(t, "all its own") {
		return budget.Allowance{Limits: limits}
	}
	before := budget.Amount{USD: 7, Tokens: 5, Calls: 3}
	a := budget.Allowance{Before: before, Session: budget.Limits{Calls: new(*limits.Calls + before.Calls)}}
	if rapid.Bool().Draw(t, "some its own") {
		a.USD = limits.USD
		return a
	}
	a.Session.USD = new(*limits.USD + before.USD)
	return a
}

// drawAttempt returns what comes next of the attempts of a call, nil if its result does.
func (p *play) drawAttempt(key effect.Key) turn.Event {
	s := &p.spending
	if s.limits.None() {
		return nil
	}
	switch s.attempts[key] {
	case attemptRuns:
		s.attempts[key] = attemptOver
		if rapid.IntRange(0, 3).Draw(p.t, "untold") == 0 {
			s.billed = s.billed.Plus(s.most[key])
			return turn.Settled{At: p.now, Key: key}
		}
		spent := budget.Amount{USD: budget.USD(rapid.IntRange(0, int(s.most[key].USD)).Draw(p.t, "spent")), Calls: rapid.IntRange(0, 1).Draw(p.t, "billed")}
		s.billed = s.billed.Plus(spent)
		return turn.Settled{At: p.now, Key: key, Spent: &spent}
	case attemptWaits: // it was cancelled
		s.attempts[key] = attemptRefused
		return turn.Settled{At: p.now, Key: key}
	case attemptRefused:
		return nil
	case attemptOver:
		if rapid.IntRange(0, 3).Draw(p.t, "repeat") > 0 {
			return nil
		}
	}
	s.attempts[key], s.most[key] = attemptWaits, budget.Amount{USD: budget.USD(rapid.IntRange(0, 40).Draw(p.t, "most")), Tokens: 40, Calls: 1}
	s.least[key] = s.most[key]
	if rapid.Bool().Draw(p.t, "can be shortened") {
		s.least[key] = budget.Amount{USD: budget.USD(rapid.IntRange(0, int(s.most[key].USD)).Draw(p.t, "least")), Tokens: 10, Calls: 1}
	}
	return turn.Reserving{At: p.now, Key: key, Most: s.most[key], Least: s.least[key]}
}

// mayGoOn says that something of an effect can come next: one that waits for the budget
// only comes back if it is cancelled.
func (p *play) mayGoOn(e effect.Effect) bool {
	return p.spending.attempts[e.EffectKey()] != attemptWaits || p.cancelled[e.EffectKey().Agent]
}

// tookBudget checks a word about an attempt.
func (p *play) tookBudget(c turn.Command) {
	s := &p.spending
	switch c := c.(type) {
	case turn.Granted:
		if s.attempts[c.Key] != attemptWaits {
			p.t.Fatalf("%s is granted and did not ask", c.Key)
		}
		s.attempts[c.Key] = attemptRuns
		if c.Less > 0 {
			p.shorten(c)
		}
		could := s.billed
		for key, state := range s.attempts {
			if state == attemptRuns {
				could = could.Plus(s.most[key])
			}
		}
		if could.USD > *s.limits.USD || could.Calls > *s.limits.Calls {
			p.t.Fatalf("%s is granted: %+v may be billed, of %v and %v", c.Key, could, *s.limits.USD, *s.limits.Calls)
		}
	case turn.Refused:
		s.attempts[c.Key] = attemptRefused
		for _, e := range p.out { // which has all that the same event has led to
			if state := s.attempts[e.EffectKey()]; state != attemptWaits && state != attemptRefused || p.asking != nil {
				p.t.Fatalf("%s is refused while %s goes on, asked: %v", c.Key, e.EffectKey(), p.asking)
			}
		}
	}
}

// shorten takes it that an attempt may cost less than it asked for, which happens only while
// nothing else goes on.
func (p *play) shorten(c turn.Granted) {
	s := &p.spending
	most, least := s.most[c.Key], s.least[c.Key]
	span := most.Tokens - least.Tokens
	if c.Less > span {
		p.t.Fatalf("%s is to have %d tokens less, and can have %d less", c.Key, c.Less, span)
	}
	for _, e := range p.out {
		if key := e.EffectKey(); key != c.Key && s.attempts[key] != attemptWaits || p.asking != nil {
			p.t.Fatalf("%s is shortened while %s goes on, asked: %v", c.Key, key, p.asking)
		}
	}
	saved := int(most.USD-least.USD) * c.Less / span
	s.most[c.Key] = budget.Amount{USD: most.USD - budget.USD(saved), Tokens: most.Tokens - c.Less, Calls: most.Calls}
}

// resume has another process go on: its calls are those that are out.
func (p *play) resume() turn.Event {
	s := &p.spending
	for _, e := range p.out {
		key := e.EffectKey()
		if _, isModel := e.(effect.ModelCall); !isModel {
			continue
		}
		if s.attempts[key] == attemptRuns {
			s.billed = s.billed.Plus(s.most[key])
		}
		if s.attempts[key] != attemptWaits {
			p.usage[key.Agent] = p.usage[key.Agent].Plus(budget.Usage{Calls: 1, UnknownCalls: 1})
			p.repeated++
		}
		delete(s.attempts, key)
	}
	return turn.Resumed{At: p.now}
}

// isRefused says that a call may only fail.
func (p *play) isRefused(key effect.Key) bool { return p.spending.attempts[key] == attemptRefused }

// able are the places of the effects that can go on.
func (p *play) able() (places []int) {
	for i, e := range p.out {
		if p.mayGoOn(e) {
			places = append(places, i)
		}
	}
	return places
}

// pick draws one of the effects that can go on.
func (p *play) pick() int {
	able := p.able()
	if len(able) == 0 {
		p.t.Fatalf("all that is out waits for the budget, and nobody says no:\n%s", p.m.Describe())
	}
	return able[rapid.IntRange(0, len(able)-1).Draw(p.t, "effect")]
}

// budgetIsTold says whether the ledger knows what may have been billed.
func (p *play) budgetIsTold() bool {
	ledger := p.m.Ledger()
	return p.spending.limits.None() || ledger.Used() == p.spending.billed
}
