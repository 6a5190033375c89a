package kernel

import (
	"slices"

	"github.com/massgen/massgen/internal/coordination/election"
	"github.com/massgen/massgen/internal/system/blob"
)

// This file is the checker's reading of rule 21: reviews, and turns that start over.

// attempts is the checker's account of them.
type attempts struct {
	restarts   int
	final      bool // the final answer is there
	restarting bool // the winner has asked for another attempt
	fellBack   bool // the attempt had no answer

	formerRounds, formerAnswers, formerVotes int

	formerWinner int
	formerShown  blob.Ref
}

// inAttempt numbers a round that opens now within its attempt.
func (c *checker) inAttempt(round int) int {
	if c.final {
		return round - c.formerRounds - c.round
	}
	return round - c.formerRounds
}

func (c *checker) reviewIsDue() bool { return c.restarts < c.cfg.MaxRestarts && len(c.seats) > 1 }

// finalIsThere ends the turn, unless the winner is to review the answer.
func (c *checker) finalIsThere(emit func(Command)) {
	if c.reviewIsDue() {
		c.final = true
		return
	}
	c.over = true
	emit(Finish{})
}

// reviewed is what follows the final answer.
func (c *checker) reviewed(emit func(Command)) {
	returning := false
	for _, s := range c.seats {
		returning = returning || s.out() && !s.failed
	}
	switch {
	case c.consulting.open || c.restarting && returning:
	case c.restarting:
		c.startOver()
	case c.fellBack:
		c.over = true
		emit(Finish{})
	default:
		if w := c.answers[c.winner].agent; !c.isBusyElsewhere(w, emit) {
			c.consult(Review, w, emit)
		}
	}
}

// startOver begins an attempt with no answers, and without the agents that are out.
func (c *checker) startOver() {
	now := c.attempts
	c.attempts = attempts{
		restarts: now.restarts + 1, formerRounds: now.formerRounds + c.round, formerAnswers: len(c.answers), formerVotes: len(c.votes),
		formerWinner: c.winner, formerShown: c.shown,
	}
	outsiders := c.outsiders
	c.panelFirsts, c.panelVotes = panelFirsts{outsiders: outsiders}, panelVotes{}
	c.decided, c.open, c.round, c.roundSet, c.winner, c.status, c.shown = false, false, 0, 0, -1, "", blob.Ref{}
	for i, s := range c.seats {
		fresh := seat{failed: s.failed, stopping: s.stopping && s.failed, former: s.former + s.count}
		if s.failed {
			fresh.act = s.act
		}
		c.seats[i] = fresh
	}
}

// fallBack ends an attempt without an answer with the answer of the one before.
func (c *checker) fallBack() {
	if c.status == Completed || c.status == AllFailed {
		c.status = NoConsensus
	}
	c.winner, c.shown, c.fellBack = c.formerWinner, c.formerShown, true
}

// restarts are turns whose winner may have them start over, once or twice.
func restarts() []scenario {
	var list []scenario
	for n := 2; n <= 3; n++ {
		for _, change := range []func(*Config){
			func(*Config) {},
			func(c *Config) { c.Pace = PaceEager },
			func(c *Config) { c.Final, c.Decision = WinnerPresent, election.Majority },
			func(c *Config) { c.Decider, c.ConsultationLimit = FirstAnswer, 7*ms },
			func(c *Config) { c.Stages, c.Agree, c.Decider = [][]int{{0, 1}}, AgreeByText, Blind },
		} {
			cfg := Defaults(panel(n)...)
			cfg.MaxRounds, cfg.MaxRestarts = 2, 1
			if change(&cfg); n == 3 && len(cfg.Stages) > 0 {
				cfg.Stages = append(cfg.Stages, []int{2, 0})
			}
			for i, may := range []events{{answers: 1, fail: true}, {answers: 1, abstain: true, interrupt: true}, {answers: 1, dismiss: true, equal: true}} {
				if n == 3 && i > 0 {
					continue
				}
				list = append(list, clocks()[2*i%len(clocks())].set(scenario{cfg, may}))
			}
		}
	}
	return list
}

// fewRestarts are those of two agents.
func fewRestarts() []scenario {
	return slices.DeleteFunc(restarts(), func(s scenario) bool { return len(s.cfg.Agents) > 2 })
}
