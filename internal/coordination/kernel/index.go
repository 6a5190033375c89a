package kernel

import (
	"cmp"
	"slices"

	"github.com/massgen/massgen/internal/coordination/election"
)

// index has what the rules need of the state at each event, kept up to date so that no event
// looks at all agents. It is not stored: it follows from the state.
type index struct {
	// live counts the agents that have not failed, members the agents in the open round, and
	// liveOut and memberOut those of them with a call out.
	live, liveOut      int
	members, memberOut int
	// limits are the future time limits of steps, earliest first.
	limits []limit
	// standing is the place of each agent's current answer, -1 without an answer.
	standing []int
	// current are the eligible answers in the config's order, and votable their agents. Both
	// are nil until they are needed, and shared by all offers of the set.
	current []Answer
	votable []int
	// candidates has the candidate of each agent's answer; nil until it is needed.
	candidates []int
	// ballots are the valid votes; nil until they are needed.
	ballots []election.Ballot
	// voided is the number of oldest votes that are all void.
	voided int
}

// limit is a moment with the number of steps that have a limit then.
type limit struct {
	at    Time
	steps int
}

// ix returns the index of the state.
func (m *Machine) ix() *index {
	if m.index == nil {
		m.index = &index{standing: slices.Repeat([]int{-1}, len(m.s.Members))}
		for _, x := range m.s.Members {
			m.index.book(x, 1)
		}
		for i, a := range m.s.Answers[m.s.FormerAnswers:] {
			m.index.standing[a.Agent] = m.s.FormerAnswers + i
		}
	}
	return m.index
}

// change changes an agent's state and the index. All changes of members go through it.
func (m *Machine) change(agent int, do func(x *member)) {
	x := &m.s.Members[agent]
	ix := m.ix()
	ix.book(*x, -1)
	do(x)
	ix.book(*x, 1)
}

// book counts a member in, or out with -1.
func (ix *index) book(x member, by int) {
	out := 0
	if x.out() {
		out = by
	}
	if !x.Failed {
		ix.live += by
		ix.liveOut += out
	}
	if x.InRound {
		ix.members += by
		ix.memberOut += out
	}
	ix.bookLimit(x.RestrictAt, by)
	ix.bookLimit(x.CancelAt, by)
}

func (ix *index) bookLimit(at Time, by int) {
	if at == 0 {
		return
	}
	i, there := slices.BinarySearchFunc(ix.limits, at, func(l limit, at Time) int { return cmp.Compare(l.at, at) })
	if !there {
		ix.limits = slices.Insert(ix.limits, i, limit{at: at})
	}
	if ix.limits[i].steps += by; ix.limits[i].steps == 0 {
		ix.limits = slices.Delete(ix.limits, i, i+1)
	}
}

// nextLimit returns the first time limit of a step after a moment, 0 without one.
func (ix *index) nextLimit(now Time) Time {
	for _, l := range ix.limits {
		if l.at > now {
			return l.at
		}
	}
	return 0
}

// add books the newest answer.
func (ix *index) add(a Answer, place int) {
	ix.standing[a.Agent] = place
	ix.current, ix.votable, ix.candidates, ix.ballots = nil, nil, nil, nil
}

// standing returns the index of an agent's current answer, or -1.
func (m *Machine) standing(agent int) int { return m.ix().standing[agent] }

// current returns the eligible answers in the config's order: the standing ones or, by rule 20, those
// of them that passed the check. Nobody changes the list: all offers of a set have the same.
func (m *Machine) current() []Answer {
	ix := m.ix()
	if ix.current == nil {
		ix.current, ix.votable = m.eligible(), []int{}
		for _, a := range ix.current {
			ix.votable = append(ix.votable, a.Agent)
		}
	}
	return ix.current
}

// votable returns the agents of the eligible answers.
func (m *Machine) votable() []int {
	m.current()
	return m.ix().votable
}

// standingAnswers returns the standing answers in the config's order.
func (m *Machine) standingAnswers() []Answer {
	standing := m.ix().standing
	list := make([]Answer, 0, len(standing))
	for _, i := range standing {
		if i >= 0 {
			list = append(list, m.s.Answers[i])
		}
	}
	return list
}
