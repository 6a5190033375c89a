package kernel

import (
	"slices"

	"github.com/massgen/massgen/internal/coordination/election"
)

// count returns the election of the valid votes.
func (m *Machine) count() election.Election {
	return election.Election{
		Rule: m.cfg.Decision, Ties: m.cfg.Ties, Quorum: m.cfg.Quorum, Weights: m.cfg.Weights, Members: m.electorate(),
		Candidates: m.candidates(), Arrivals: m.ix().standing, Ballots: m.ballots(),
	}
}

// countValues is rule 15: an election in which each answer with a value is its author's vote.
func (m *Machine) countValues() election.Election {
	e := m.count()
	e.Ballots = nil
	for _, a := range m.current() {
		if m.valueOf(a) != "" {
			e.Ballots = append(e.Ballots, election.Ballot{Voter: a.Agent, For: []int{a.Agent}})
		}
	}
	return e
}

// isRepeated reports whether two ballots of an election of values are for one candidate.
func isRepeated(e election.Election) bool {
	named := make([]bool, len(e.Candidates))
	for _, b := range e.Ballots {
		c := e.Candidates[b.For[0]]
		if named[c] {
			return true
		}
		named[c] = true
	}
	return false
}

// ballots returns the valid votes, in the order of arrival.
func (m *Machine) ballots() []election.Ballot {
	ix := m.ix()
	if ix.ballots == nil {
		ix.ballots = []election.Ballot{}
		for _, v := range m.s.Votes[ix.voided:] {
			if v.Void == "" {
				ix.ballots = append(ix.ballots, v.ballot())
			}
		}
	}
	return ix.ballots
}

// electorate is the weight of the agents that majority and quorum count: the members of the round,
// or under pace: eager those of voters.
func (m *Machine) electorate() int {
	switch {
	case m.cfg.Pace == PaceEager:
		return m.voters()
	case !m.s.RoundOpen && m.cfg.Decision == election.Quorum:
		return m.s.Electorate
	case m.cfg.Weights == nil:
		return m.ix().members
	}
	sum := 0
	for agent, x := range m.s.Members {
		if x.InRound {
			sum += m.cfg.Weights[agent]
		}
	}
	return sum
}

// keepElectorate keeps the electorate of a round that closes: those who are late belong to it. The
// stages of a cascade are one round.
func (m *Machine) keepElectorate() {
	if m.cfg.Decision != election.Quorum {
		return
	}
	before := m.s.Electorate
	if m.s.Round > m.s.FormerRounds+1 || m.s.StagesBegun < 2 {
		before = 0
	}
	m.s.Electorate = before + m.electorate()
}

func (m *Machine) weight(agent int) int {
	if m.cfg.Weights == nil {
		return 1
	}
	return m.cfg.Weights[agent]
}

// winnerStands is rule 2: it reports whether no votes of some agents could change the winner. It is
// false while there is no valid vote.
func (m *Machine) winnerStands(out []int) bool {
	return election.WinnerSettled(m.count(), m.ballotsOf(out))
}

// ballotsOf returns for each of some agents the answers that it may vote for (rule 5).
func (m *Machine) ballotsOf(voters []int) []election.Ballot {
	open := make([]election.Ballot, 0, len(voters))
	for _, voter := range voters {
		open = append(open, election.Ballot{Voter: voter, For: m.votableBy(voter, m.s.Members[voter].Round)})
	}
	return open
}

// votableBy returns the agents that an agent's vote may name (rules 5 and 19).
func (m *Machine) votableBy(agent, round int) []int {
	if m.isBlind() {
		return []int{}
	}
	votable := m.votable()
	if m.cfg.Peers != (Peers{}) {
		votable = []int{}
		for _, a := range m.shownTo(agent, round) {
			votable = append(votable, a.Agent)
		}
	}
	if m.cfg.SelfVote {
		return votable
	}
	others := make([]int, 0, len(votable))
	for _, a := range votable {
		if a != agent {
			others = append(others, a)
		}
	}
	return others
}

// decideEarly is rules 4 and 18: under majority and quorum an answer wins as soon as it has the
// votes; with stop_early it wins as soon as no vote can change that.
func (m *Machine) decideEarly() bool {
	counts := m.cfg.Decision == election.Majority || m.cfg.Decision == election.Quorum
	byValue := m.cfg.Decider == ByValue
	if !counts && !m.cfg.StopEarly || byValue && (!m.s.RoundOpen || len(m.cfg.Stages) > 0) {
		return false
	}
	e := m.count()
	if byValue {
		e = m.countValues()
	}
	out := election.Elect(e)
	switch {
	case out.Winner < 0, byValue && !isRepeated(e):
		return false
	case counts && election.Won(e):
	case !m.cfg.StopEarly:
		return false
	case byValue && !m.valuesAreSettled(e, out.Winner), !byValue && !election.Settled(e, m.ballotsOf(m.openVoters())):
		return false
	}
	m.conclude(out)
	return true
}

// openVoters is rule 18: the agents without a valid vote whose call is out, or that will be started
// again.
func (m *Machine) openVoters() []int {
	voted := make([]bool, len(m.s.Members))
	for _, b := range m.ballots() {
		voted[b.Voter] = true
	}
	var open []int
	for agent, x := range m.s.Members {
		isOut := x.Phase == Busy && (x.InRound || m.cfg.Pace == PaceEager)
		isNext := m.cfg.Pace == PaceEager && x.Phase == Idle && (x.Starts == 0 || x.Seen != m.set())
		if !x.Failed && !voted[agent] && (isOut || isNext) {
			open = append(open, agent)
		}
	}
	return open
}

// valuesAreSettled is rule 18 for values: an agent whose first answer is out may give any value, also
// a new one. If it stands before the winner in the config's order, it may take the winner's place.
func (m *Machine) valuesAreSettled(e election.Election, winner int) bool {
	open := m.openVoters()
	if len(open) > 0 && open[0] < winner {
		return false
	}
	e.Candidates, e.Arrivals = slices.Clone(e.Candidates), slices.Clone(e.Arrivals)
	for _, agent := range open {
		e.Candidates[agent], e.Arrivals[agent] = agent, m.set()+agent
	}
	var all []int
	for agent, c := range e.Candidates {
		if c == agent {
			all = append(all, agent)
		}
	}
	missing := make([]election.Ballot, 0, len(open))
	for _, agent := range open {
		missing = append(missing, election.Ballot{Voter: agent, For: all})
	}
	return election.Settled(e, missing)
}

// electByVotes is rule 4: the votes decide, or the newest answer wins without any valid vote.
func (m *Machine) electByVotes() {
	out := election.Elect(m.count())
	if out.Winner < 0 {
		m.elect(NoConsensus, m.newest())
		return
	}
	m.conclude(out)
}

// newest returns the place of the newest eligible answer, -1 without one.
func (m *Machine) newest() int {
	place := -1
	for _, agent := range m.votable() {
		place = max(place, m.standing(agent))
	}
	return place
}

// conclude elects the winner of an election, or leaves a tie to the judge (rule 18).
func (m *Machine) conclude(out election.Outcome) {
	status := Completed
	if !out.Consensus {
		status = NoConsensus
	}
	switch {
	case out.Tied != nil:
		m.openTie(&tie{Among: out.Tied, Status: status})
	case len(m.s.Picks) > 0:
		m.electPick(status, out.Winner)
	default:
		m.elect(status, m.standing(out.Winner))
	}
}

// openTie closes the round and cancels the calls that are out: none can change the tie.
func (m *Machine) openTie(t *tie) {
	m.s.Tie = t
	m.s.RoundOpen, m.s.GraceAt = false, 0
	for agent := range m.s.Members {
		m.leaveBehind(agent)
		m.recall(agent)
	}
}

// breakTie is rule 17: the judge is asked about the tied answers.
func (m *Machine) breakTie() bool { return !m.awaitsConsultant(TieBreak) && !m.consult(TieBreak) }

// settleTie elects one of the tied.
func (m *Machine) settleTie(best int) {
	status := m.s.Tie.Status
	m.s.Tie = nil
	if len(m.s.Picks) > 0 {
		m.electPick(status, best)
		return
	}
	m.elect(status, m.standing(best))
}

// agreement returns the weight of the votes for the winner, and that of all valid votes. Without
// votes each standing answer counts as its author's vote.
func (m *Machine) agreement(winner int) (backing, all int) {
	if m.s.Winner < m.s.FormerAnswers { // of an earlier attempt
		return 0, 0
	}
	candidates := m.candidates()
	backing, all = election.Agreement(m.count(), candidates[winner])
	if all > 0 {
		return backing, all
	}
	for agent, at := range m.ix().standing {
		if at < 0 {
			continue
		}
		all += m.weight(agent)
		if candidates[agent] == candidates[winner] {
			backing += m.weight(agent)
		}
	}
	return backing, all
}
