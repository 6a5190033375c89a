package kernel

import "errors"

// Dismissed is a person's decision to go on without an agent: its calls are cancelled, and it
// makes no further call in this turn.
type Dismissed struct {
	At    Time `json:"at"`
	Agent int  `json:"agent"`
}

func (e Dismissed) When() Time { return e.At }

// MayDismiss returns nil if the turn can go on without an agent, else why it cannot
// (rule 13).
func (m *Machine) MayDismiss(agent int) error {
	if agent >= len(m.s.Members) && m.isOutsider(agent) {
		return m.mayDismissOutsider(agent)
	}
	if agent < 0 || agent >= len(m.s.Members) {
		return errors.New("the panel has no such agent")
	}
	x := m.s.Members[agent]
	switch {
	case m.s.Stage == stageNew:
		return errors.New("no agent has been asked yet")
	case m.Over():
		return errors.New("the turn is over")
	case x.Act == ActDismissed:
		return errors.New("the turn goes on without it already")
	case x.Failed:
		return errors.New("it has failed, and is asked no more")
	case m.s.Stage == stagePresenting && !m.isStillAsked(agent):
		return errors.New("the votes are counted, and it is asked no more")
	case m.s.Stage == stageRunning && m.ix().live == 1:
		return errors.New("it is the last agent; end the turn instead")
	}
	return nil
}

// applyDismissed is rule 13: the agent's call is cancelled, and nobody waits for it. The agent's
// answer and votes stand.
func (m *Machine) applyDismissed(agent int) {
	defer m.withoutConsultant(agent)
	if agent >= len(m.s.Members) {
		m.s.Outsiders = append(m.s.Outsiders, agent)
		return
	}
	phase := m.s.Members[agent].Phase
	m.change(agent, func(x *member) {
		x.Failed, x.Act, x.Reason = true, ActDismissed, ""
		x.InRound = x.InRound && !x.out()
	})
	if phase == Busy || phase == Late {
		m.cancel(agent)
	}
}

// withoutConsultant ends what a dismissed agent does outside of the rounds.
func (m *Machine) withoutConsultant(agent int) {
	switch {
	case m.s.Presenting:
		m.warn("the presentation was ended (%s): the winning answer stands as it was", ActDismissed)
		m.finish()
	case m.s.Consulting != nil && m.s.Consulting.Agent == agent && m.s.Consulting.Ended == "":
		m.endConsultation(m.name(agent) + " was dismissed")
	}
}

// mayDismissOutsider is MayDismiss for a consultant outside of the panel.
func (m *Machine) mayDismissOutsider(agent int) error {
	switch {
	case m.s.Stage == stageNew:
		return errors.New("no agent has been asked yet")
	case m.Over():
		return errors.New("the turn is over")
	case m.isOut(agent):
		return errors.New("the turn goes on without it already")
	case m.s.Stage == stagePresenting && !m.isStillAsked(agent):
		return errors.New("the votes are counted, and it is asked no more")
	}
	return nil
}

// isStillAsked reports whether an agent is or will be asked after the election.
func (m *Machine) isStillAsked(agent int) bool {
	return m.s.Consulting != nil && m.s.Consulting.Agent == agent ||
		m.isPresented() && !m.s.Final && m.presenter() == agent ||
		m.isReviewDue() && !m.s.Restarting && m.consultant(Review) == agent
}

// voters returns the weight of the agents that count under pace: eager. They are the live agents, and
// the dismissed agents with a valid vote.
func (m *Machine) voters() int {
	ix := m.ix()
	if m.cfg.Weights == nil && ix.live == len(m.s.Members) {
		return ix.live
	}
	sum := 0
	for agent, x := range m.s.Members {
		if !x.Failed {
			sum += m.weight(agent)
		}
	}
	for _, v := range m.s.Votes[ix.voided:] {
		if v.Void == "" && m.s.Members[v.Voter].Failed {
			sum += m.weight(v.Voter)
		}
	}
	return sum
}
