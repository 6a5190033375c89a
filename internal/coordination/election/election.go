package election

import "slices"

// Rule decides who wins, and whether the agents agree on the winner.
type Rule string

// Ties decides between candidates that are equally good by the rule.
type Ties string

// The values of a Rule and of Ties, in the words of the configuration. The zero values mean
// AllVoted and ByConfig.
const (
	AllVoted  Rule = "all_voted"
	Majority  Rule = "majority"
	Unanimous Rule = "unanimous"
	Quorum    Rule = "quorum"
	Approval  Rule = "approval"
	Ranked    Rule = "ranked"

	// ByConfig elects the first of the tied in the config's order.
	ByConfig Ties = "config"
	// Earliest elects the tied candidate whose answer came first.
	Earliest Ties = "earliest"
	// ByJudge leaves the choice to a judge.
	ByJudge Ties = "judge"
	// NoTies elects as ByConfig does, without consensus.
	NoTies Ties = "none"
)

// Election is one count of votes. Agents are indexes in the config's order.
type Election struct {
	Rule Rule
	Ties Ties
	// Quorum is the weight of votes that the rule Quorum asks for: a number of at least 1 is the
	// weight itself, a smaller one is a share of Members.
	Quorum float64
	// Members is the weight of all agents that majority and quorum count.
	Members int
	// Weights has the weight of each agent's ballot. If it is nil, each ballot weighs 1.
	Weights []int
	// Candidates has the candidate of each agent's answer, -1 for an agent without an answer.
	// Equal answers are one candidate: the first of their agents.
	Candidates []int
	// Arrivals has the place of each agent's answer in the order of arrival. Only Earliest
	// needs it.
	Arrivals []int
	// Ballots are the valid votes, at most one of each agent.
	Ballots []Ballot
}

// Ballot is the vote of one agent.
type Ballot struct {
	Voter int `json:"voter"`
	// For are the agents whose answers it names, the best first. An agent without an answer and
	// a second name of one candidate do not count. Rules other than Approval and Ranked count
	// only the first name.
	For []int `json:"for"`
}

// Outcome is the outcome of an election.
type Outcome struct {
	// Winner is the candidate that wins, -1 if no ballot counts.
	Winner int
	// Consensus reports whether the winner is agreed on by the rule. It is false without a
	// winner.
	Consensus bool
	// Tied are the candidates that a judge decides between, in the config's order. It is nil if
	// the winner stands. If the judge fails, Winner wins.
	Tied []int
	// Tally has the weight of each candidate's votes, by agent. Under Ranked it has the Borda
	// points: of m candidates, place p of a ballot gives m − p points, and an unnamed candidate
	// gets none.
	Tally []int
}

// Elect returns the outcome of the ballots.
func Elect(e Election) Outcome {
	ballots := e.counted()
	tally := e.tally(ballots)
	if e.Rule == Ranked && len(ballots) > 0 {
		if c := e.condorcet(ballots); c >= 0 {
			return Outcome{Winner: c, Consensus: true, Tally: tally}
		}
	}
	if len(ballots) == 0 {
		return Outcome{Winner: -1, Tally: tally}
	}
	return e.decide(tally)
}

// decide returns the outcome of a tally: the candidate with the most votes or points wins.
func (e Election) decide(tally []int) Outcome {
	best := e.leaders(tally)
	out := Outcome{Winner: best[0], Consensus: e.agrees(tally, best[0]), Tally: tally}
	if len(best) == 1 {
		return out
	}
	switch e.Ties {
	case Earliest:
		out.Winner = e.earliest(tally, tally[best[0]])
	case ByJudge:
		out.Tied = best
	case NoTies:
		out.Consensus = false
	}
	return out
}

// Won reports whether a candidate has the votes at which the rule ends a turn: under Majority
// those of more than half of the members, under Quorum the quorum. Other rules have no such
// number.
func Won(e Election) bool {
	tally := e.tally(e.counted())
	most := 0
	for _, votes := range tally {
		most = max(most, votes)
	}
	switch e.Rule {
	case Majority:
		return 2*most > e.Members
	case Quorum:
		return e.reaches(most)
	}
	return false
}

// Agreement returns the weight of the ballots that are for a candidate, and the weight of all
// that count. Under Approval a ballot is for each candidate that it names, else for its
// first.
func Agreement(e Election, candidate int) (votes, all int) {
	for _, b := range e.counted() {
		all += e.weight(b.Voter)
		if b.For[0] == candidate || e.Rule == Approval && slices.Contains(b.For, candidate) {
			votes += e.weight(b.Voter)
		}
	}
	return votes, all
}

// leaders returns the candidates with the most votes, in the config's order.
func (e Election) leaders(tally []int) []int {
	var best []int
	for _, c := range e.standing() {
		if len(best) > 0 && tally[c] > tally[best[0]] {
			best = best[:0]
		}
		if len(best) == 0 || tally[c] == tally[best[0]] {
			best = append(best, c)
		}
	}
	return best
}

// earliest returns the candidate whose answer came first of those with so many votes. Of equal
// answers the first counts.
func (e Election) earliest(tally []int, votes int) int {
	first := -1
	for agent, c := range e.Candidates {
		if c >= 0 && tally[c] == votes && (first < 0 || e.Arrivals[agent] < e.Arrivals[first]) {
			first = agent
		}
	}
	return e.Candidates[first]
}

// agrees reports whether the rule calls the winner agreed on, ties aside.
func (e Election) agrees(tally []int, winner int) bool {
	switch e.Rule {
	case Unanimous:
		return !slices.ContainsFunc(e.standing(), func(c int) bool { return c != winner && tally[c] > 0 })
	case Quorum:
		return e.reaches(tally[winner])
	}
	return true
}

// reaches reports whether a weight of votes is a quorum. The quotient of two whole numbers is
// rounded as a share in the configuration is, so that 7 of 100 reach 0.07.
func (e Election) reaches(votes int) bool {
	if e.Quorum >= 1 {
		return float64(votes) >= e.Quorum
	}
	return float64(votes)/float64(e.Members) >= e.Quorum
}

// tally returns the votes of each candidate, by agent.
func (e Election) tally(ballots []Ballot) []int {
	tally := make([]int, len(e.Candidates))
	last := len(e.standing())
	for _, b := range ballots {
		for place, c := range b.For {
			points := e.weight(b.Voter)
			if e.Rule == Ranked {
				points *= last - (place + 1)
			}
			tally[c] += points
		}
	}
	return tally
}

// counted returns the ballots that name a candidate, with the candidates that count, each
// once.
func (e Election) counted() []Ballot {
	counted := make([]Ballot, 0, len(e.Ballots))
	for _, b := range e.Ballots {
		if names := e.named(b); len(names) > 0 {
			counted = append(counted, Ballot{b.Voter, names})
		}
	}
	return counted
}

// named returns the candidates that a ballot counts for, each once, in its order.
func (e Election) named(b Ballot) []int {
	var names []int
	for _, agent := range b.For {
		c := e.candidate(agent)
		if c < 0 || slices.Contains(names, c) {
			continue
		}
		names = append(names, c)
		if e.Rule != Approval && e.Rule != Ranked {
			break
		}
	}
	return names
}

// candidate returns the candidate of an agent's answer, -1 without one.
func (e Election) candidate(agent int) int {
	if agent < 0 || agent >= len(e.Candidates) {
		return -1
	}
	return e.Candidates[agent]
}

// standing returns the candidates in the config's order.
func (e Election) standing() []int {
	var list []int
	for agent, c := range e.Candidates {
		if c == agent {
			list = append(list, c)
		}
	}
	return list
}

func (e Election) weight(voter int) int {
	if e.Weights == nil {
		return 1
	}
	return e.Weights[voter]
}
