package election

import "slices"

// Settled reports whether no ballots of the open voters can change the outcome: the winner,
// the consensus or who is tied before a judge. An open voter has no ballot yet, and For has
// all answers that it may name. It may also abstain. Under Ranked, Settled may be false
// although the outcome stands; under each other rule it is exact.
func Settled(e Election, open []Ballot) bool {
	now := Elect(e)
	return e.holds(open, func(then Outcome) bool {
		return then.Winner == now.Winner && then.Consensus == now.Consensus && slices.Equal(then.Tied, now.Tied)
	})
}

// WinnerSettled reports whether there is a winner that no ballots of the open voters can
// change. Whether there is a consensus on it may still change.
func WinnerSettled(e Election, open []Ballot) bool {
	now := Elect(e)
	return now.Winner >= 0 && e.holds(open, func(then Outcome) bool {
		return then.Winner == now.Winner && slices.Equal(then.Tied, now.Tied)
	})
}

// holds reports whether the outcome stays the same with any ballots of the open voters.
//
// A ballot only adds votes, except under Ranked. So a candidate gains most if all who may name
// it name nothing else. If the outcome stays the same for each candidate, no other ballots
// change it.
func (e Election) holds(open []Ballot, same func(Outcome) bool) bool {
	support := e.support(open)
	ballots := e.counted()
	if e.Rule == Ranked {
		return e.beatsAll(ballots, support)
	}
	tally := e.tally(ballots)
	most := slices.Max(tally)
	for c, votes := range support {
		if votes == 0 || tally[c]+votes < most && e.Rule != Unanimous {
			continue // under Unanimous a single vote ends the consensus
		}
		then := slices.Clone(tally)
		then[c] += votes
		if !same(e.decide(then)) {
			return false
		}
	}
	return true
}

// beatsAll reports whether one candidate beats each other by more than the weight of the open
// voters that may place the other before it. It is also true if no open voter may name any.
func (e Election) beatsAll(ballots []Ballot, support []int) bool {
	if !slices.ContainsFunc(support, func(votes int) bool { return votes > 0 }) {
		return true
	}
	if len(ballots) == 0 {
		return false
	}
	winner := e.condorcet(ballots)
	if winner < 0 {
		return false
	}
	for _, c := range e.standing() {
		if c != winner && e.margin(ballots, winner, c) <= support[c] {
			return false
		}
	}
	return true
}

// support returns the weight of the open voters that may name each candidate, by agent.
func (e Election) support(open []Ballot) []int {
	support := make([]int, len(e.Candidates))
	counted := make([]int, len(e.Candidates)) // one more than the last open voter that was counted
	for i, b := range open {
		for _, agent := range b.For {
			if c := e.candidate(agent); c >= 0 && counted[c] <= i {
				counted[c] = i + 1
				support[c] += e.weight(b.Voter)
			}
		}
	}
	return support
}
