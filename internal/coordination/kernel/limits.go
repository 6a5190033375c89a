package kernel

import (
	"fmt"
	"slices"
	"time"

	"github.com/massgen/massgen/internal/coordination/election"
	"github.com/massgen/massgen/internal/system/blob"
)

func (m *Machine) after(d time.Duration) Time { return m.s.Now + Time(d.Milliseconds()) }

// start is rules 1 and 6: the limits apply when a step starts. An agent that may neither
// answer nor vote abstains in place of a step.
func (m *Machine) start(agent, round int) {
	offer := m.offer(agent, round)
	isStarted := offer.MayAnswer || len(offer.MayVote) > 0
	m.change(agent, func(x *member) {
		x.Round, x.Seen, x.MayAnswer = round, offer.Set, offer.MayAnswer
		if !isStarted {
			x.Act, x.Reason = ActAbstained, "it may not answer any more, and there is no answer that it may vote for"
			x.Since = 0
			return
		}
		x.Act, x.Reason = ActNone, ""
		x.Phase = Busy
		x.Starts++
		if m.cfg.StragglerFactor > 0 {
			x.Since, x.Took = m.s.Now, 0
		}
		if limit := m.stepLimit(round); limit > 0 {
			x.RestrictAt = m.after(limit)
			x.CancelAt = m.after(limit + m.cfg.RoundGrace)
		}
	})
	if !isStarted {
		return
	}
	m.emit(Start{Agent: agent, Round: round, Offer: offer})
}

// offer is rules 4, 5 and 6: in round max_rounds only a vote is offered; the
// limits of new answers take new_answer away.
func (m *Machine) offer(agent, round int) Offer {
	may := round < m.lastRound() &&
		(m.cfg.MaxNewAnswersPerAgent == 0 || m.s.Members[agent].Answers < m.cfg.MaxNewAnswersPerAgent) &&
		(m.cfg.MaxNewAnswersGlobal == 0 || m.set()-m.s.FormerAnswers < m.cfg.MaxNewAnswersGlobal) && !m.wouldLead(agent)
	if m.isBlind() {
		return Offer{Shown: []Answer{}, MayAnswer: may, MayVote: []int{}, Former: m.s.Former}
	}
	return Offer{Set: m.set(), Shown: m.shownTo(agent, round), MayAnswer: may, MayVote: m.votableBy(agent, round), Former: m.s.Former}
}

// wouldLead is rule 6: one more answer would put an agent further ahead than LeadCap of a live agent that has
// not voted.
func (m *Machine) wouldLead(agent int) bool {
	if m.cfg.LeadCap == 0 {
		return false
	}
	most := m.s.Members[agent].Answers + 1 - m.cfg.LeadCap
	for other, x := range m.s.Members {
		if other != agent && !x.Failed && x.Answers < most && !m.hasVoted(other) {
			return true
		}
	}
	return false
}

// hasVoted reports whether an agent has a valid vote.
func (m *Machine) hasVoted(agent int) bool {
	return slices.ContainsFunc(m.ballots(), func(b election.Ballot) bool { return b.Voter == agent })
}

func (m *Machine) stepLimit(round int) time.Duration {
	if m.isFirst(round) {
		return m.cfg.FirstRoundLimit
	}
	return m.cfg.RoundLimit
}

// applyTimeLimits is rule 6: at a round's limit only the coordination tools are
// offered, after its grace the call is cancelled; at the turn's limit the best so
// far is the result. Every event has its time, so a limit holds even if another event
// overtakes the clock's.
func (m *Machine) applyTimeLimits() {
	if m.Over() {
		return
	}
	if m.s.TurnAt != 0 && m.s.Now >= m.s.TurnAt {
		m.endEarly(Timeout)
		return
	}
	if c := m.s.Consulting; c != nil && c.Ended == "" && c.LimitAt != 0 && m.s.Now >= c.LimitAt {
		m.endConsultation(fmt.Sprintf("it took longer than its limit of %s", m.cfg.ConsultationLimit))
	}
	if due := m.ix().limits; len(due) == 0 || due[0].at > m.s.Now {
		return
	}
	for agent, x := range m.s.Members {
		if x.Phase != Busy && x.Phase != Late {
			continue
		}
		if x.CancelAt != 0 && m.s.Now >= x.CancelAt {
			m.cancel(agent)
		} else if x.RestrictAt != 0 && m.s.Now >= x.RestrictAt {
			m.change(agent, func(x *member) { x.RestrictAt = 0 })
			m.emit(Restrict{Agent: agent})
		}
	}
}

// cancel cancels an agent's call. Its step ends when the call has returned.
func (m *Machine) cancel(agent int) {
	m.change(agent, func(x *member) { x.Phase, x.RestrictAt, x.CancelAt = Stopping, 0, 0 })
	m.emit(Cancel{Agent: agent})
}

// applyStopped is rule 6: an agent that was cut off abstains, in round 1 it fails.
func (m *Machine) applyStopped(agent int) {
	switch {
	case m.s.Stage == stagePresenting || m.s.Members[agent].Failed || m.s.Members[agent].Act == ActLate: // the state says why already
		m.change(agent, func(x *member) { x.Phase = Idle })
	case m.isFirst(m.s.Members[agent].Round):
		m.endStep(agent, ActFailed, "it did not answer within the first round's time limit")
	default:
		m.endStep(agent, ActAbstained, "it did not act within the round's time limit")
	}
}

// applyOutOfTurns is rule 7: an agent that requested tools up to its last call abstains, and
// its earlier answer stands. In a panel of one its text, if there is one, is the best so
// far.
func (m *Machine) applyOutOfTurns(ev OutOfTurns) {
	isAlone := len(m.cfg.Agents) == 1
	if isAlone && ev.Answer != (blob.Ref{}) {
		m.applyAnswer(Answered{At: ev.At, Agent: ev.Agent, Seen: ev.Seen, Answer: ev.Answer, Hash: ev.Hash, Work: ev.Work, FailedCheck: ev.FailedCheck, Check: ev.Check})
	}
	m.change(ev.Agent, func(x *member) { x.Seen = ev.Seen })
	m.endStep(ev.Agent, ActMaxTurns, ev.Reason)
	if isAlone {
		m.elect(MaxTurns, m.set()-1)
	}
}

// wake requests the clock's next event, if its time has changed.
func (m *Machine) wake() {
	if m.Over() {
		return
	}
	var next Time
	consider := func(t Time) {
		if t > m.s.Now && (next == 0 || t < next) {
			next = t
		}
	}
	consider(m.s.TurnAt)
	consider(m.s.GraceAt)
	if c := m.s.Consulting; c != nil && c.Ended == "" {
		consider(c.LimitAt)
	}
	consider(m.ix().nextLimit(m.s.Now))
	if next != 0 && next != m.s.WakeAt {
		m.emit(Wake{At: next})
	}
	m.s.WakeAt = next
}
