package kernel

import "slices"

// This file is the checker's own count of votes, from the ballots as they were
// cast.

// valid are the ballots that count: cast in time, on the set that stands now.
func (c *checker) valid() []ballot {
	var list []ballot
	for _, b := range c.votes {
		if !b.late && b.set == len(c.answers) {
			list = append(list, b)
		}
	}
	return list
}

// hasVoted says whether an agent's vote counts.
func (c *checker) hasVoted(agent int) bool {
	return slices.ContainsFunc(c.valid(), func(b ballot) bool { return b.voter == agent })
}

// standing is the index of an agent's newest answer, or -1.
func (c *checker) standing(agent int) int {
	at := -1
	for i, e := range c.answers {
		if e.agent == agent {
			at = i
		}
	}
	return at
}

// standingAll are the agents that have an answer, in the config's order.
func (c *checker) standingAll() []int {
	var list []int
	for i, s := range c.seats {
		if s.count > 0 {
			list = append(list, i)
		}
	}
	return list
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

// mostVotes returns the winning answer by the votes (rule 4), and how many it
// has; with none, -1 and 0.
func (c *checker) mostVotes() (int, int) {
	texts := map[string]int{}
	for _, b := range c.valid() {
		texts[c.text(b.target)]++
	}
	winner, votes := -1, 0
	for _, i := range c.standingAll() {
		if n := texts[c.text(i)]; n > votes {
			winner, votes = c.standing(i), n
		}
	}
	return winner, votes
}

// byVotes is the outcome when all that can vote have.
func (c *checker) byVotes() (Status, int) {
	winner, votes := c.mostVotes()
	if votes == 0 {
		return NoConsensus, len(c.answers) - 1
	}
	if c.cfg.Decision == Unanimous && votes < len(c.valid()) {
		return NoConsensus, winner
	}
	return Completed, winner
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
	for i, s := range c.seats {
		if s.count == 0 && !s.failed || s.count > 1 {
			return false
		}
		if s.count == 1 && c.text(i) != c.text(c.standingAll()[0]) {
			return false
		}
	}
	return len(c.answers) > 1
}

// votesAreIn says that whatever those who are out may still vote, the winner
// stays. In a small panel every choice is tried; in a large one it is enough to
// try each text with all the votes that it could get.
func (c *checker) votesAreIn(out []int) bool {
	winner, votes := c.mostVotes()
	if votes == 0 {
		return false
	}
	if len(c.seats) > 3 {
		return c.noTextCatchesUp(out, winner)
	}
	if len(out) == 0 {
		return true
	}
	if !c.votesAreIn(out[1:]) {
		return false
	}
	for _, target := range c.standingAll() {
		if target == out[0] && !c.cfg.SelfVote {
			continue
		}
		c.votes = append(c.votes, ballot{voter: out[0], target: target, set: len(c.answers)})
		after, _ := c.mostVotes()
		same := after == winner && c.votesAreIn(out[1:])
		c.votes = c.votes[:len(c.votes)-1]
		if !same {
			return false
		}
	}
	return true
}

func (c *checker) noTextCatchesUp(out []int, winner int) bool {
	cast := len(c.votes)
	defer func() { c.votes = c.votes[:cast] }()
	for _, rival := range c.standingAll() {
		if c.text(rival) == c.text(c.answers[winner].agent) {
			continue
		}
		c.votes = c.votes[:cast]
		for _, voter := range out {
			for _, target := range c.standingAll() {
				if c.text(target) == c.text(rival) && (target != voter || c.cfg.SelfVote) {
					c.votes = append(c.votes, ballot{voter: voter, target: target, set: len(c.answers)})
					break
				}
			}
		}
		if after, _ := c.mostVotes(); after != winner {
			return false
		}
	}
	return true
}
