package kernel

import (
	"fmt"
	"slices"
	"time"

	"github.com/massgen/massgen/internal/coordination/election"
)

// scenario is a configuration, and what may happen under it.
type scenario struct {
	cfg Config
	may events
}

func (s scenario) String() string {
	c := s.cfg
	strategy := ""
	if c.Strategy() != "" || c.Analysis {
		strategy = fmt.Sprintf("strategy %s then %s, stages %v agree by %s, judge %q, other verdicts %t, values %t, analysis %t, limit %v, ",
			c.Strategy(), c.Decider, c.Stages, c.Agree, c.Judge, c.VerdictByOther, c.Values, c.Analysis, c.ConsultationLimit)
	}
	if c.MaxRestarts > 0 {
		strategy += fmt.Sprintf("%d restarts, ", c.MaxRestarts)
	}
	if c.StopEarly || c.Check != "" || c.Peers != (Peers{}) || c.Ties != "" || c.BothOrders {
		strategy += fmt.Sprintf("stop_early %t, check %q, peers %+v, ties %q, both_orders %t, ", c.StopEarly, c.Check, c.Peers, c.Ties, c.BothOrders)
	}
	return strategy + fmt.Sprintf("%d agents, %s, %s, answers per agent %d, in all %d and ahead %d, self_vote %t, %d rounds, %s, limits %v %v %v %v %v, %+v",
		len(c.Agents), c.Pace, c.Decision, c.MaxNewAnswersPerAgent, c.MaxNewAnswersGlobal, c.LeadCap, c.SelfVote, c.MaxRounds, c.Final,
		c.StragglerGrace, c.FirstRoundLimit, c.RoundLimit, c.RoundGrace, c.TurnLimit, s.may)
}

// clock is one choice of time limits, and whether an event may come just when
// one is due, before the machine was woken.
type clock struct {
	grace, first, round, roundGrace, turn time.Duration
	overdue                               bool
}

const ms = time.Millisecond

// The times are so short that a state's key holds them; nothing but their order
// matters.
func clocks() []clock {
	return []clock{
		{grace: 10 * ms},
		{},
		{grace: 10 * ms, overdue: true},
		{grace: 10 * ms, first: 5 * ms, round: 5 * ms},
		{grace: 10 * ms, first: 30 * ms, round: 20 * ms, roundGrace: 5 * ms},
		{grace: 10 * ms, first: 15 * ms, round: 4 * ms, roundGrace: 2 * ms, turn: 25 * ms, overdue: true},
		{grace: 10 * ms, turn: 25 * ms},
	}
}

func (k clock) set(s scenario) scenario {
	s.cfg.StragglerGrace, s.cfg.FirstRoundLimit, s.cfg.RoundLimit = k.grace, k.first, k.round
	s.cfg.RoundGrace, s.cfg.TurnLimit, s.may.overdue = k.roundGrace, k.turn, k.overdue
	return s
}

func panel(n int) []string { return []string{"a", "b", "c"}[:n] }

// basics are all paces, decisions, self_vote and last rounds for one to three
// agents.
func basics(rounds ...int) []scenario {
	var list []scenario
	for n := 1; n <= 3; n++ {
		for _, pace := range []Pace{PaceRounds, PaceEager} {
			for _, decision := range []election.Rule{election.AllVoted, election.Majority, election.Unanimous} {
				for _, selfVote := range []bool{true, false} {
					for _, last := range rounds {
						cfg := Defaults(panel(n)...)
						cfg.Pace, cfg.Decision, cfg.SelfVote, cfg.MaxRounds = pace, decision, selfVote, last
						if cfg.Validate() == nil {
							list = append(list, scenario{cfg, events{answers: 2}})
						}
					}
				}
			}
		}
	}
	return list
}

// byCaps adds every choice of limits of new answers, and one kind of trouble each.
func byCaps(base []scenario) []scenario {
	var list []scenario
	for _, s := range base {
		s = clocks()[0].set(s)
		for perAgent := range 3 {
			for global := range 4 {
				s.cfg.MaxNewAnswersPerAgent, s.cfg.MaxNewAnswersGlobal = perAgent, global
				for _, may := range []events{
					{answers: 2, fail: true}, {answers: 2, abstain: true}, {answers: 2, equal: true},
				} {
					list = append(list, scenario{s.cfg, may})
				}
			}
		}
	}
	return list
}

// byClock adds every choice of time limits, of the final strategy, and of how a
// turn is ended from outside.
func byClock(base []scenario) []scenario {
	var list []scenario
	for _, s := range base {
		for _, k := range clocks() {
			for _, final := range []Strategy{WinnerReuse, WinnerPresent, Synthesize} {
				s.cfg.Final = final
				for _, may := range []events{{answers: 2, fail: true, budget: true}, {answers: 2, abstain: true, interrupt: true}} {
					if s.cfg.Pace == PaceEager && k.first > 0 {
						may.answers = 1
					}
					list = append(list, k.set(scenario{s.cfg, may}))
				}
			}
		}
	}
	return list
}

// byTrouble lets all go wrong at once.
func byTrouble(base []scenario) []scenario {
	var list []scenario
	for _, s := range base {
		s.may = events{answers: 2, fail: true, abstain: true, equal: true, interrupt: true}
		list = append(list, clocks()[0].set(s))
	}
	return list
}

// byDismissal lets a person go on without agents, beside one kind of trouble each.
func byDismissal(base []scenario) []scenario {
	var list []scenario
	for _, s := range base {
		for _, final := range []Strategy{WinnerReuse, WinnerPresent} {
			s.cfg.Final = final
			for _, k := range []clock{clocks()[0], clocks()[4]} {
				for _, may := range []events{{answers: 2, dismiss: true}, {answers: 1, dismiss: true, fail: true, equal: true}} {
					list = append(list, k.set(scenario{s.cfg, may}))
				}
			}
		}
	}
	return list
}

// fullProduct is what `make walk` goes through.
func fullProduct() []scenario {
	list := byCaps(basics(2, 3, 4))
	list = append(list, byClock(basics(2, 3))...)
	list = append(list, byTrouble(basics(3))...)
	list = append(list, byLead(basics(3, 4))...)
	return append(list, byDismissal(basics(2))...)
}

// fewBasics are the basics of two agents with one rule of voting.
func fewBasics() []scenario {
	return slices.DeleteFunc(basics(4), func(s scenario) bool { return len(s.cfg.Agents) != 2 || s.cfg.Decision != election.AllVoted })
}

// byLead limits how far an agent may be ahead of others.
func byLead(base []scenario) []scenario {
	var list []scenario
	for _, s := range base {
		for s.cfg.LeadCap = 1; s.cfg.LeadCap < 3; s.cfg.LeadCap++ {
			for _, may := range []events{{answers: 2, fail: true}, {answers: 2, abstain: true}, {answers: 2, dismiss: true}} {
				list = append(list, clocks()[0].set(scenario{s.cfg, may}))
			}
		}
	}
	return list
}

// strata are three agents under each pace, decision and self_vote, so that no
// sample lacks one of them.
func strata() []scenario {
	var list []scenario
	for _, s := range basics(2) {
		if len(s.cfg.Agents) == 3 {
			s.may = events{answers: 2, fail: true, equal: true}
			list = append(list, clocks()[0].set(s))
			s.may = events{answers: 1, dismiss: true}
			list = append(list, clocks()[0].set(s))
		}
	}
	return list
}

// sample takes every nth of the full product: of one and two agents more than of
// three, which cost more. Two agents that may vote only for each other are counted apart.
func sample(few, many int) []scenario {
	var list, others []scenario
	i := 0
	for _, s := range fullProduct() {
		if len(s.cfg.Agents) == 2 && !s.cfg.SelfVote {
			others = append(others, s)
			continue
		}
		step := few
		if len(s.cfg.Agents) > 2 {
			step = many
		}
		if i%step == 0 {
			list = append(list, s)
		}
		i++
	}
	for i := 0; i < len(others); i += few {
		list = append(list, others[i])
	}
	return list
}
