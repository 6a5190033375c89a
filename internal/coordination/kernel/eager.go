package kernel

// stepEager is rule 8, `pace: eager`: an idle agent starts again when the set differs
// from the one that it saw, and the votes decide when all are idle, or by the grace
// rule.
func (m *Machine) stepEager() bool {
	if m.firstAnswersAgree() {
		m.elect(Completed, m.standing(m.current()[0].Agent))
		return false
	}
	for agent, x := range m.s.Members {
		if !x.Failed && !x.out() && (x.Starts == 0 || x.Seen != m.set()) {
			m.start(agent, m.s.FormerRounds+x.Starts+1)
			m.s.Round = max(m.s.Round, m.s.FormerRounds+m.s.Members[agent].Starts)
		}
	}
	isOut := func(x member) bool { return !x.Failed && x.out() }
	if ix := m.ix(); ix.liveOut == 0 || m.graceIsOver(ix.live, ix.liveOut) && m.winnerStands(m.agents(isOut)) {
		for _, agent := range m.agents(isOut) {
			m.leaveBehind(agent)
		}
		m.electByVotes()
	}
	return m.s.Tie != nil
}

// getsUpdates is rule 8: a busy agent learns of a new set, unless it has no answer yet:
// first answers are blind.
func (m *Machine) getsUpdates(x member) bool {
	return m.cfg.Pace == PaceEager && x.Phase == Busy && x.Answers > 0
}

// sendUpdates is rule 8. A step keeps its offer of new_answer even if a limit has been
// reached since (rule 6).
func (m *Machine) sendUpdates() {
	if m.cfg.Pace != PaceEager {
		return
	}
	for agent, x := range m.s.Members {
		if m.getsUpdates(x) {
			offer := m.offer(agent, x.Round)
			offer.MayAnswer = x.MayAnswer
			m.emit(Update{Agent: agent, Offer: offer})
		}
	}
}
