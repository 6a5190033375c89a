package kernel

import (
	"slices"

	"github.com/massgen/massgen/internal/coordination/election"
	"github.com/massgen/massgen/internal/system/blob"
)

// This file is the checker's reading of the rules: what each event changes, and
// what must follow from it.

// expect books an event and returns the commands that the rules ask for.
func (c *checker) expect(ev Event) []Command {
	if c.over {
		return nil
	}
	c.now = max(c.now, ev.When())
	var want []Command
	emit := func(cmd Command) { want = append(want, cmd) }
	c.book(ev, emit)
	if c.over {
		return want
	}
	c.checkLimits(ev, emit)
	for again := true; again; again = !c.decided && !c.over {
		for !c.decided && c.proceed(emit) {
		}
		if !c.decided || c.over {
			break
		}
		c.conclude(emit)
	}
	return want
}

// book notes what an event says.
func (c *checker) book(ev Event, emit func(Command)) {
	switch ev := ev.(type) {
	case Opened:
		c.accepted = true
		if c.cfg.TurnLimit > 0 {
			c.turnAt = c.later(c.cfg.TurnLimit.Milliseconds())
		}
	case Woke:
		c.timer = 0
	case Answered:
		s := &c.seats[ev.Agent]
		late := s.late
		c.stepEnded(s, ActAnswered, ev.Seen)
		if late && c.round >= c.lastRound() && len(c.answers) > 0 {
			return
		}
		s.count++
		c.answers = append(c.answers, entry{ev.Agent, ev.Hash, ev.Value, ev.FailedCheck})
		c.tellBusyAgents(emit)
	case Voted:
		s := &c.seats[ev.Agent]
		c.votes = append(c.votes, ballot{voter: ev.Agent, target: ev.For, set: ev.Seen, late: s.late, others: ev.Others})
		c.stepEnded(s, ActVoted, ev.Seen)
	case Abstained:
		c.stepEnded(&c.seats[ev.Agent], ActAbstained, ev.Seen)
	case OutOfTurns:
		c.stepEnded(&c.seats[ev.Agent], ActMaxTurns, ev.Seen)
		if len(c.seats) == 1 {
			c.bookAlone(ev, emit)
		}
	case Failed:
		c.stepEnded(&c.seats[ev.Agent], ActFailed, 0)
	case Stopped:
		c.bookStopped(&c.seats[ev.Agent])
	case Dismissed:
		c.bookDismissed(ev.Agent, emit)
	case Consulted:
		c.bookConsulted(ev, emit)
	case Presented:
		c.presenting, c.shown = false, ev.Answer
		c.finalIsThere(emit)
	}
}

// bookAlone is rule 7 for a panel of one that is out of turns.
func (c *checker) bookAlone(ev OutOfTurns, emit func(Command)) {
	if ev.Answer != (blob.Ref{}) {
		c.seats[0].count++
		c.answers = append(c.answers, entry{0, ev.Hash, "", false})
	}
	c.end(MaxTurns, len(c.answers)-1, emit)
}

// bookDismissed is rule 13.
func (c *checker) bookDismissed(agent int, emit func(Command)) {
	defer c.dismissConsultant(agent, emit)
	if agent >= len(c.seats) {
		c.outsiders = append(c.outsiders, agent)
		return
	}
	s := &c.seats[agent]
	if s.busy {
		emit(Cancel{agent})
	}
	s.busy, s.stopping, s.late = false, s.out(), false
	s.failed, s.act, s.member = true, ActDismissed, s.member && !s.stopping
}

// mayDismiss says whether a person may go on without an agent.
func (c *checker) mayDismiss(agent int) bool {
	if agent >= len(c.seats) {
		return c.mayDismissOutsider(agent)
	}
	switch {
	case c.seats[agent].failed:
		return false
	case c.decided:
		return c.isStillAsked(agent)
	}
	return len(c.alive()) > 1
}

func (c *checker) bookStopped(s *seat) {
	switch {
	case c.decided || s.failed || s.recalled:
		s.stopping, s.recalled = false, false
	case s.round == 1:
		c.stepEnded(s, ActFailed, s.seen)
	default:
		c.stepEnded(s, ActAbstained, s.seen)
	}
}

func (c *checker) stepEnded(s *seat, act Act, seen int) {
	if s.late && act != ActFailed {
		act = ActLate
	}
	s.busy, s.stopping, s.late, s.seen, s.act = false, false, false, seen, act
	s.failed = act == ActFailed
}

// tellBusyAgents is rule 8: only those that have an answer already.
func (c *checker) tellBusyAgents(emit func(Command)) {
	if c.cfg.Pace != PaceEager {
		return
	}
	for i, s := range c.seats {
		if s.busy && s.count > 0 {
			o := c.offerTo(i, s.round)
			o.MayAnswer = s.mayAnswer
			emit(Update{i, o})
		}
	}
}

// checkLimits is rule 6's clock, and what ends a turn early.
func (c *checker) checkLimits(ev Event, emit func(Command)) {
	_, interrupted := ev.(Interrupted)
	_, spent := ev.(BudgetSpent)
	switch {
	case interrupted:
		c.endNow(Cut, emit)
	case spent:
		c.endNow(Budget, emit)
	case c.turnAt != 0 && c.now >= c.turnAt:
		c.endNow(Timeout, emit)
	default:
		c.limitConsultation(emit)
		if c.decided {
			return
		}
		for i := range c.seats {
			s := &c.seats[i]
			if s.busy && s.cancelAt != 0 && c.now >= s.cancelAt {
				s.busy, s.stopping, s.late = false, true, false
				emit(Cancel{i})
			} else if s.busy && s.restrictAt != 0 && c.now >= s.restrictAt {
				s.restrictAt = 0
				emit(Restrict{i})
			}
		}
	}
}

// endNow is rule 6: the best so far. A decided turn keeps its status.
func (c *checker) endNow(status Status, emit func(Command)) {
	if c.decided {
		c.over = true
		if c.presenting {
			emit(Cancel{c.presenter()})
		}
		c.dropConsultation(emit)
		emit(Finish{})
		return
	}
	winner := c.newest()
	if o := c.elects(c.valid()); o.Winner >= 0 {
		winner = c.standing(o.Winner)
	}
	c.end(status, winner, emit)
	c.dropConsultation(emit)
}

// proceed draws one conclusion; false: there is none.
func (c *checker) proceed(emit func(Command)) bool {
	if c.consulting.open {
		return false
	}
	if c.tied != nil {
		by := c.judge()
		return !c.isBusyElsewhere(by, emit) && !c.consult(TieBreak, by, emit)
	}
	if c.endsMidway(emit) {
		return true
	}
	if c.cfg.Pace == PaceEager {
		return c.proceedEagerly(emit)
	}
	if !c.open {
		switch {
		case c.round == 0 && len(c.cfg.Stages) > 0:
			return c.openStage(emit)
		case c.round == 1 && c.ruledByFirsts():
			return c.afterFirsts(emit)
		}
		return c.openRound(emit)
	}
	if !c.closes() {
		return false
	}
	if before := c.electors; c.round > 1 || c.stages < 2 {
		c.electors = c.electorate()
	} else {
		c.electors = before + c.electorate()
	}
	c.open, c.graceAt = false, 0
	all := true
	for i := range c.seats {
		s := &c.seats[i]
		all = all && (!s.member || s.failed)
		if s.member && s.out() {
			s.late, s.member = s.busy, false
		}
	}
	if c.round == 1 && c.ruledByFirsts() {
		return true
	}
	if c.sameFirstAnswers() {
		c.end(Completed, c.standing(c.standingAll()[0]), emit)
	} else if c.round >= c.lastRound() || len(c.answers) == c.roundSet && !all {
		c.byVotes(emit)
	}
	return true
}

// endsMidway is what ends a turn in the midst of a round.
func (c *checker) endsMidway(emit func(Command)) bool {
	live := c.alive()
	if len(live) == 0 {
		c.byVotes(emit)
		return true
	}
	if who := c.standingAll(); len(live) == 1 && len(who) == 1 && who[0] == live[0] {
		c.end(Completed, c.standing(who[0]), emit)
		return true
	}
	if c.cfg.Decider == ByValue {
		return c.earlyValue(emit)
	}
	counts := c.cfg.Decision == election.Majority || c.cfg.Decision == election.Quorum
	if counts && election.Won(c.election(c.valid())) || c.cfg.StopEarly && c.votesAreIn(c.mayStillVote(), true) {
		c.elected(c.elects(c.valid()), emit)
		return true
	}
	return false
}

func (c *checker) openRound(emit func(Command)) bool {
	var members []int
	for i, s := range c.seats {
		if !s.failed && !s.out() {
			members = append(members, i)
		}
	}
	if len(members) == 0 {
		return false
	}
	c.round++
	c.open, c.roundSet = true, len(c.answers)
	for i := range c.seats {
		c.seats[i].member = slices.Contains(members, i)
	}
	for _, i := range members {
		c.begin(i, c.round, emit)
	}
	return true
}

func (c *checker) begin(i, round int, emit func(Command)) {
	o := c.offerTo(i, round)
	s := &c.seats[i]
	s.round, s.seen, s.mayAnswer, s.act, s.asked = round, o.Set, o.MayAnswer, ActNone, true
	if !o.MayAnswer && len(o.MayVote) == 0 {
		s.act = ActAbstained
		return
	}
	s.starts++
	s.busy, s.restrictAt, s.cancelAt = true, 0, 0
	limit := c.cfg.RoundLimit
	if round == 1 {
		limit = c.cfg.FirstRoundLimit
	}
	if limit > 0 {
		s.restrictAt = c.later(limit.Milliseconds())
		s.cancelAt = c.later((limit + c.cfg.RoundGrace).Milliseconds())
	}
	emit(Start{i, c.formerRounds + round, o})
}

func (c *checker) offerTo(agent, round int) Offer {
	o := Offer{Set: len(c.answers), MayVote: []int{}}
	for _, i := range c.shownTo(agent, round) {
		e := c.answers[c.standing(i)]
		o.Shown = append(o.Shown, Answer{Agent: i, N: c.seats[i].former + c.seats[i].count, Hash: e.hash})
		if i != agent || c.cfg.SelfVote {
			o.MayVote = append(o.MayVote, i)
		}
	}
	if len(c.cfg.Stages) > 0 && round == 1 {
		o = Offer{MayVote: []int{}}
	}
	mine, all := c.cfg.MaxNewAnswersPerAgent, c.cfg.MaxNewAnswersGlobal
	o.MayAnswer = round < c.lastRound() && (mine == 0 || c.seats[agent].count < mine) && (all == 0 || len(c.answers)-c.formerAnswers < all) && !c.leads(agent)
	return o
}

// closes is rule 2's end of a round.
func (c *checker) closes() bool {
	var members, out []int
	for i, s := range c.seats {
		if s.member {
			members = append(members, i)
			if s.out() {
				out = append(out, i)
			}
		}
	}
	return len(out) == 0 || c.graceOver(len(members), len(out)) && (len(c.answers) > c.roundSet || c.votesAreIn(out, false))
}

func (c *checker) graceOver(members, out int) bool {
	if c.cfg.StragglerGrace == 0 || members-out <= members/2 {
		c.graceAt = 0
		return false
	}
	if c.graceAt == 0 {
		c.graceAt = c.later(c.cfg.StragglerGrace.Milliseconds())
	}
	return c.now >= c.graceAt
}

func (c *checker) proceedEagerly(emit func(Command)) bool {
	if c.sameFirstAnswers() {
		c.end(Completed, c.standing(c.standingAll()[0]), emit)
		return true
	}
	var live, out []int
	for i, s := range c.seats {
		if s.failed {
			continue
		}
		if !s.out() && (s.starts == 0 || s.seen != len(c.answers)) {
			c.begin(i, s.starts+1, emit)
			c.round = max(c.round, c.seats[i].starts)
		}
		live = append(live, i)
		if c.seats[i].out() {
			out = append(out, i)
		}
	}
	if len(out) == 0 || c.graceOver(len(live), len(out)) && c.votesAreIn(out, false) {
		for _, i := range out {
			c.seats[i].late = c.seats[i].busy
		}
		c.byVotes(emit)
		return true
	}
	return false
}

// end decides the turn and calls back whoever is still out.
func (c *checker) end(status Status, winner int, emit func(Command)) {
	c.decided, c.open, c.graceAt, c.tied = true, false, 0, nil
	if status == Completed && c.cfg.Check == CheckRequired && winner >= 0 && c.answers[winner].failed {
		status = NoConsensus
	}
	c.status, c.winner = status, winner
	if winner < 0 && c.restarts > 0 {
		c.fallBack()
	} else if winner < 0 && (status == Completed || status == NoConsensus) {
		c.status = AllFailed
	}
	for i := range c.seats {
		s := &c.seats[i]
		switch {
		case s.busy:
			emit(Cancel{i})
			s.act = ActCancelled
			if s.late {
				s.act = ActLate
			}
		case s.stopping && !s.failed && !s.recalled:
			s.act = ActCancelled
		case !s.asked && !s.failed && len(c.cfg.Stages) > 0:
			s.act = ActNotAsked
		}
		s.busy, s.stopping, s.late = false, s.out(), false
	}
}

// conclude is rules 9 and 17, for a turn that is decided.
func (c *checker) conclude(emit func(Command)) {
	if c.final || c.fellBack {
		c.reviewed(emit)
		return
	}
	byAgreement := (c.status == Completed || c.status == NoConsensus) && len(c.cfg.Agents) > 1
	switch {
	case c.presenting || c.consulting.open:
		return
	case byAgreement && c.analysisIsDue():
		if c.isBusyElsewhere(c.judge(), emit) || c.consult(Analysis, c.judge(), emit) {
			return
		}
	}
	switch {
	case !byAgreement:
		c.over = true
		emit(Finish{})
		return
	case !c.isPresented() || c.isGone(c.presenter()):
		c.finalIsThere(emit)
		if !c.over {
			c.reviewed(emit)
		}
		return
	}
	w := c.presenter()
	if w < len(c.seats) && c.seats[w].stopping {
		return
	}
	c.presenting = true
	o := c.allStanding()
	p := Present{Agent: w, Round: c.formerRounds + c.round, Offer: o, Votes: make([]Vote, len(c.valid())), Synthesize: c.cfg.Final != WinnerPresent}
	if c.cfg.Final == SynthesizeByJudge {
		p.Votes, p.Analysis = nil, analysed
	}
	emit(p)
}

func (c *checker) later(ms int64) Time { return c.now + Time(ms) }
