package kernel

import (
	"slices"

	"github.com/massgen/massgen/internal/coordination/draw"
	"github.com/massgen/massgen/internal/coordination/election"
)

// This file is the checker's own count of votes, from the ballots as they were
// cast.

// valid are the ballots that count: cast in time, on the set that stands now.
func (c *checker) valid() []ballot {
	var list []ballot
	for _, b := range c.votes[c.formerVotes:] {
		if !b.late && b.set == len(c.answers) {
			list = append(list, b)
		}
	}
	return list
}

// leads says whether another answer would put an agent too far ahead of one that may still answer.
func (c *checker) leads(agent int) bool {
	for i, s := range c.seats {
		if ahead := c.seats[agent].count + 1 - s.count; c.cfg.LeadCap > 0 && i != agent && !s.failed && !c.hasVoted(i) && ahead > c.cfg.LeadCap {
			return true
		}
	}
	return false
}

// hasVoted says whether an agent's vote counts.
func (c *checker) hasVoted(agent int) bool {
	return slices.ContainsFunc(c.valid(), func(b ballot) bool { return b.voter == agent })
}

// standing is the index of an agent's newest answer, or -1.
func (c *checker) standing(agent int) int {
	at := -1
	for i, e := range c.answers[c.formerAnswers:] {
		if e.agent == agent {
			at = c.formerAnswers + i
		}
	}
	return at
}

// standingAll are the agents whose answers may win, in the config's order: those that have one or,
// where a check is required and one has passed, those whose answer has.
func (c *checker) standingAll() []int {
	var all, passed []int
	for i, s := range c.seats {
		if s.count > 0 {
			all = append(all, i)
			if !c.answers[c.standing(i)].failed {
				passed = append(passed, i)
			}
		}
	}
	if c.cfg.Check == CheckRequired && len(passed) > 0 {
		return passed
	}
	return all
}

// shownTo are the agents whose answers an agent is shown now.
func (c *checker) shownTo(agent, round int) []int {
	all, p := c.standingAll(), c.cfg.Peers
	if p == (Peers{}) {
		return all
	}
	var others, list []int
	for i := 1; i < len(c.seats); i++ {
		if other := (agent + i) % len(c.seats); slices.Contains(all, other) {
			others = append(others, other)
		}
	}
	if slices.Contains(all, agent) {
		list = append(list, agent)
	}
	if p.Ring > 0 {
		list = append(list, others[:min(p.Ring, len(others))]...)
	}
	for place, i := range draw.Order(len(others), p.Seed, uint64(p.Turn), uint64(c.formerRounds+round), uint64(agent)) {
		if place < p.Random {
			list = append(list, others[i])
		}
	}
	slices.Sort(list)
	return list
}

// votableBy are the agents that an agent's vote may name now.
func (c *checker) votableBy(agent int) []int {
	return slices.DeleteFunc(slices.Clone(c.shownTo(agent, c.seats[agent].round)), func(i int) bool { return i == agent && !c.cfg.SelfVote })
}

// newest is the newest answer that may win.
func (c *checker) newest() int {
	newest := -1
	for _, i := range c.standingAll() {
		newest = max(newest, c.standing(i))
	}
	return newest
}

// text is what equal answers have in common. An answer without a value equals no other.
func (c *checker) text(agent int) string {
	e := c.answers[c.standing(agent)]
	switch {
	case !c.cfg.Values:
		return e.hash
	case e.value == "":
		return "no value of " + c.cfg.Agents[agent]
	}
	return "value " + e.value
}

// elects counts votes by the account's own ballots and candidates. The counting itself is held against
// another account in package election.
func (c *checker) elects(votes []ballot) election.Outcome { return election.Elect(c.election(votes)) }

func (c *checker) election(votes []ballot) election.Election {
	e := election.Election{
		Rule: c.cfg.Decision, Ties: c.cfg.Ties, Quorum: c.cfg.Quorum, Weights: c.cfg.Weights, Members: c.electorate(),
		Candidates: slices.Repeat([]int{-1}, len(c.seats)), Arrivals: make([]int, len(c.seats)),
	}
	first := map[string]int{}
	for _, i := range c.standingAll() {
		if _, ok := first[c.text(i)]; !ok {
			first[c.text(i)] = i
		}
		e.Candidates[i], e.Arrivals[i] = first[c.text(i)], c.standing(i)
	}
	for _, b := range votes {
		e.Ballots = append(e.Ballots, election.Ballot{Voter: b.voter, For: append([]int{b.target}, b.others...)})
	}
	return e
}

// electorate is the weight of those that a majority and a quorum count.
func (c *checker) electorate() int {
	if !c.open && c.cfg.Pace == PaceRounds && c.cfg.Decision == election.Quorum {
		return c.electors
	}
	sum := 0
	for i, s := range c.seats {
		if c.cfg.Pace == PaceRounds && s.member || c.cfg.Pace == PaceEager && (!s.failed || c.hasVoted(i)) {
			sum += c.weight(i)
		}
	}
	return sum
}

func (c *checker) weight(agent int) int {
	if c.cfg.Weights == nil {
		return 1
	}
	return c.cfg.Weights[agent]
}

// byVotes ends the turn, now that all that can vote have.
func (c *checker) byVotes(emit func(Command)) {
	if o := c.elects(c.valid()); o.Winner >= 0 {
		c.elected(o, emit)
		return
	}
	c.end(NoConsensus, c.newest(), emit)
}

// elected ends the turn with the winner of an election, or has the judge break a tie.
func (c *checker) elected(o election.Outcome, emit func(Command)) {
	status := NoConsensus
	if o.Consensus {
		status = Completed
	}
	if o.Tied == nil {
		c.end(status, c.standing(o.Winner), emit)
		return
	}
	c.tied, c.tieStatus = o.Tied, status
	c.open, c.graceAt = false, 0
	for i := range c.seats {
		s := &c.seats[i]
		s.late = s.busy
		c.recallLate(i, emit)
	}
}

func (c *checker) alive() []int {
	var list []int
	for i, s := range c.seats {
		if !s.failed {
			list = append(list, i)
		}
	}
	return list
}

// sameFirstAnswers is the end of rule 2.
func (c *checker) sameFirstAnswers() bool {
	for _, s := range c.seats {
		if s.count == 0 && !s.failed || s.count > 1 {
			return false
		}
	}
	who := c.standingAll()
	for _, i := range who {
		if c.text(i) != c.text(who[0]) {
			return false
		}
	}
	return len(who) > 1
}

// votesAreIn says that whatever those who are out may still vote, the winner stays; with status also the
// status. In a small panel every choice is tried. A large one, and lists of names, are left to package
// election, whose own test tries them.
func (c *checker) votesAreIn(out []int, status bool) bool {
	now := c.elects(c.valid())
	if now.Winner < 0 {
		return false
	}
	if len(c.seats) > 3 || c.cfg.Decision == election.Ranked || c.cfg.Decision == election.Approval {
		var open []election.Ballot
		for _, i := range out {
			open = append(open, election.Ballot{Voter: i, For: c.votableBy(i)})
		}
		if status {
			return election.Settled(c.election(c.valid()), open)
		}
		return election.WinnerSettled(c.election(c.valid()), open)
	}
	return c.staysWith(now, c.valid(), out, status)
}

func (c *checker) staysWith(now election.Outcome, votes []ballot, out []int, status bool) bool {
	then := c.elects(votes)
	if then.Winner != now.Winner || !slices.Equal(then.Tied, now.Tied) || status && then.Consensus != now.Consensus {
		return false
	}
	if len(out) == 0 {
		return true
	}
	if !c.staysWith(now, votes, out[1:], status) {
		return false
	}
	for _, target := range c.votableBy(out[0]) {
		more := append(slices.Clone(votes), ballot{voter: out[0], target: target, set: len(c.answers)})
		if !c.staysWith(now, more, out[1:], status) {
			return false
		}
	}
	return true
}

// mayStillVote are the agents whose valid vote may still come.
func (c *checker) mayStillVote() []int {
	var list []int
	for i, s := range c.seats {
		isOut := s.busy && !s.late && (s.member || c.cfg.Pace == PaceEager)
		isNext := c.cfg.Pace == PaceEager && !s.out() && (s.starts == 0 || s.seen != len(c.answers))
		if !s.failed && !c.hasVoted(i) && (isOut || isNext) {
			list = append(list, i)
		}
	}
	return list
}
