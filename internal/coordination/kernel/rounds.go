package kernel

import (
	"slices"
	"time"
)

// stepRounds is rule 2, `pace: rounds`: all members of a round act on the same set. A new
// answer voids the votes before it, so judging an incomplete set would waste calls.
func (m *Machine) stepRounds() bool {
	if !m.s.RoundOpen {
		if m.s.Round == m.s.FormerRounds && len(m.cfg.Stages) > 0 {
			return m.openStage()
		}
		if m.isFirst(m.s.Round) && m.decidesFirst() {
			return m.decideFirst()
		}
		return m.openRound()
	}
	if !m.roundIsDone() {
		return false
	}
	m.closeRound()
	return true
}

// openRound is rule 2's start of a round: its members are the live agents that are idle
// now. If no agent is idle, it waits for a late one.
func (m *Machine) openRound() bool {
	if ix := m.ix(); ix.live == ix.liveOut {
		return false
	}
	m.s.Round++
	m.s.RoundOpen, m.s.RoundSet, m.s.GraceAt = true, m.set(), 0
	for agent := range m.s.Members {
		m.change(agent, func(x *member) { x.InRound = !x.Failed && !x.out() })
	}
	for agent, x := range m.s.Members {
		if x.InRound {
			m.start(agent, m.s.Round)
		}
	}
	return true
}

// roundIsDone is rule 2's end of a round: each member has acted, or the grace
// for stragglers is over and waiting for them would change nothing but time.
func (m *Machine) roundIsDone() bool {
	ix := m.ix()
	if ix.memberOut == 0 {
		return true
	}
	return m.graceIsOver(ix.members, ix.memberOut) && (m.set() > m.s.RoundSet ||
		m.winnerStands(m.agents(func(x member) bool { return x.InRound && x.out() })))
}

// graceIsOver runs the stragglers' clock: it starts when more than half have
// acted.
func (m *Machine) graceIsOver(members, out int) bool {
	if 2*(members-out) <= members {
		m.s.GraceAt = 0
		return false
	}
	if m.s.GraceAt == 0 {
		grace := m.grace()
		if grace == 0 {
			return false
		}
		m.s.GraceAt = m.after(grace)
	}
	return m.s.Now >= m.s.GraceAt
}

// leastGrace is the shortest grace that StragglerFactor gives.
const leastGrace = 2 * time.Second

// grace returns how long stragglers may keep a round open; 0 means for ever.
func (m *Machine) grace() time.Duration {
	grace := m.cfg.StragglerGrace
	if m.cfg.StragglerFactor == 0 {
		return grace
	}
	var took []time.Duration
	for _, x := range m.s.Members {
		if (x.InRound || m.cfg.Pace == PaceEager) && !x.Failed && !x.out() && x.Since != 0 {
			took = append(took, time.Duration(x.Took)*time.Millisecond)
		}
	}
	if len(took) == 0 {
		return grace
	}
	slices.Sort(took)
	median := (took[(len(took)-1)/2] + took[len(took)/2]) / 2
	short := max(leastGrace, time.Duration(m.cfg.StragglerFactor*float64(median)))
	if grace == 0 || short < grace {
		return short
	}
	return grace
}

// closeRound is rules 2 and 4: agents that are still out are late. Another round follows if
// an answer was accepted or all members failed, otherwise the votes decide.
func (m *Machine) closeRound() {
	m.keepElectorate()
	m.s.RoundOpen, m.s.GraceAt = false, 0
	allFailed := true
	for i := range m.s.Members {
		x := m.s.Members[i]
		if !x.InRound {
			continue
		}
		allFailed = allFailed && x.Failed
		if x.out() {
			m.change(i, func(x *member) { x.InRound = false })
			m.leaveBehind(i)
		}
	}
	switch {
	case m.isFirst(m.s.Round) && m.decidesFirst():
	case m.firstAnswersAgree():
		m.elect(Completed, m.standing(m.current()[0].Agent))
	case m.s.Round >= m.lastRound() || m.set() == m.s.RoundSet && !allFailed:
		m.electByVotes()
	}
}

// leaveBehind is rule 2: an agent that is still out is late. A cancelled call returns soon
// anyway.
func (m *Machine) leaveBehind(agent int) {
	if m.s.Members[agent].Phase == Busy {
		m.change(agent, func(x *member) { x.Phase = Late })
	}
}

// firstAnswersAgree is the end of rule 2: if every live agent has given its first answer
// and all answers are the same text, the agents agree without a vote.
func (m *Machine) firstAnswersAgree() bool {
	shown := m.current()
	if len(shown) < 2 {
		return false
	}
	for agent, x := range m.s.Members {
		if !x.Failed && m.standing(agent) < 0 {
			return false
		}
	}
	return m.areEqual(shown) && !slices.ContainsFunc(m.s.Members, func(x member) bool { return x.Answers > 1 })
}

// areEqual reports whether all of some answers are one candidate.
func (m *Machine) areEqual(list []Answer) bool {
	first := m.valueOf(list[0])
	return (first != "" || !m.cfg.Values) && !slices.ContainsFunc(list, func(a Answer) bool { return m.valueOf(a) != first })
}

// applyAnswer is rule 3: an answer replaces the agent's answer and voids all votes of the
// turn. A late answer is accepted on arrival, except in the last round, in which nobody
// could vote on it.
func (m *Machine) applyAnswer(ev Answered) {
	late := m.s.Members[ev.Agent].Phase == Late
	m.change(ev.Agent, func(x *member) { x.Seen = ev.Seen })
	m.endStep(ev.Agent, ActAnswered, "")
	if late && m.s.Round >= m.lastRound() {
		m.warn("%s answered after the last round had begun: that answer was not used", m.cfg.Agents[ev.Agent])
		return
	}
	m.change(ev.Agent, func(x *member) { x.Answers++ })
	x := m.s.Members[ev.Agent]
	answer := Answer{Agent: ev.Agent, N: x.FormerAnswers + x.Answers, Round: x.Round, Text: ev.Answer, Hash: ev.Hash, Value: ev.Value, Work: ev.Work, FailedCheck: ev.FailedCheck, Check: ev.Check}
	m.s.Answers = append(m.s.Answers, answer)
	m.voidVotes()
	m.ix().add(answer, m.set()-1)
	m.sendUpdates()
}

// voidVotes voids the votes of the turn.
func (m *Machine) voidVotes() {
	ix := m.ix()
	for i := range m.s.Votes[ix.voided:] {
		if v := &m.s.Votes[ix.voided+i]; v.Void == "" {
			v.Void = voidNewer
		}
	}
	ix.voided = len(m.s.Votes)
}

// applyVote is rule 3: a vote belongs to the set that its voter saw. A void vote is
// recorded and not counted.
func (m *Machine) applyVote(ev Voted) {
	x := m.s.Members[ev.Agent]
	vote := Vote{
		Voter: ev.Agent, For: ev.For, Label: m.Label(m.answerIn(ev.For, ev.Seen)),
		Set: ev.Seen, Round: x.Round, Reason: ev.Reason, Others: ev.Others, Saw: ev.Saw,
	}
	switch {
	case x.Phase == Late:
		vote.Void = voidLate
	case ev.Seen != m.set():
		vote.Void = voidNewer
	}
	m.change(ev.Agent, func(x *member) { x.Seen = ev.Seen })
	m.endStep(ev.Agent, ActVoted, "")
	m.s.Votes = append(m.s.Votes, vote)
	if ix := m.ix(); ix.ballots != nil && vote.Void == "" {
		ix.ballots = append(ix.ballots, vote.ballot())
	}
}

// The reasons for which a vote is void.
const (
	voidLate  = "it came after its round had closed"
	voidNewer = "a newer answer was accepted"
)

// answerIn returns the answer of an agent in a set.
func (m *Machine) answerIn(agent, set int) Answer {
	if i := m.standing(agent); i >= 0 && i < set {
		return m.s.Answers[i]
	}
	for i := set - 1; i >= m.s.FormerAnswers; i-- {
		if m.s.Answers[i].Agent == agent {
			return m.s.Answers[i]
		}
	}
	return Answer{Agent: agent}
}
