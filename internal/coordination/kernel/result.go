package kernel

import (
	"slices"

	"github.com/massgen/massgen/internal/system/blob"
)

// AgentState is the outcome of an agent in the turn.
type AgentState struct {
	State  Act    `json:"state"`
	Reason string `json:"reason,omitempty"`
}

// Result is the outcome of a turn. It refers to texts as the journal does. It shares its answers
// with the machine, so nobody may change them.
type Result struct {
	Status Status
	// Winner is the winning answer, or nil.
	Winner *Answer
	// Text is the answer to show: the presentation if there was one, else the winning
	// answer. Work is as in Answer, for that text.
	Text blob.Ref
	Work blob.Ref
	// Backing is the weight of the votes for the winner, and Ballots that of all valid votes. In a
	// turn without votes the standing answers count in their place.
	Backing, Ballots int
	// Answers are the standing answers in the config's order, All are all accepted
	// answers in the order of arrival.
	Answers []Answer
	All     []Answer
	Votes   []Vote
	Void    []Vote
	Agents  []AgentState
	Rounds  int
	// Restarts counts the attempts after the first. FormerRounds and FormerAnswers count the rounds and the answers
	// in All of the attempts before the last.
	Restarts, FormerRounds, FormerAnswers int
	// Stage is the stage that the turn has come to, 0 without stages. Analysis is the judge's
	// text, zero for none.
	Stage    int
	Analysis blob.Ref
	// Judged reports whether the judge named the winner.
	Judged bool
	// Warnings are sentences for people.
	Warnings []string
}

// Result returns the result so far; it is final once Over.
func (m *Machine) Result() Result {
	r := Result{
		Status: m.s.Status, Answers: m.standingAnswers(), All: slices.Clip(m.s.Answers), Agents: make([]AgentState, 0, len(m.s.Members)),
		Rounds: m.s.Round, Restarts: m.s.Restarts, FormerRounds: m.s.FormerRounds, FormerAnswers: m.s.FormerAnswers, Stage: m.s.StagesBegun, Analysis: m.s.Analysis, Judged: m.s.Judged, Warnings: append([]string(nil), m.s.Warnings...),
	}
	for _, v := range m.s.Votes {
		if v.Void == "" {
			r.Votes = append(r.Votes, v)
		} else {
			r.Void = append(r.Void, v)
		}
	}
	for _, x := range m.s.Members {
		r.Agents = append(r.Agents, AgentState{State: x.Act, Reason: x.Reason})
	}
	if m.s.Winner >= 0 {
		r.Winner = &m.s.Answers[m.s.Winner]
		r.Text, r.Work = r.Winner.Text, r.Winner.Work
		r.Backing, r.Ballots = m.agreement(r.Winner.Agent)
		if m.s.Presented != (blob.Ref{}) {
			r.Text, r.Work = m.s.Presented, m.s.PresentedWork
		}
	}
	return r
}

// LastAnswer returns the label of an agent's accepted text, or the reason why it was not
// accepted.
func (m *Machine) LastAnswer(agent int, text blob.Ref) (label, void string) {
	if i := m.standing(agent); i >= 0 && m.s.Answers[i].Text == text {
		return m.Label(m.s.Answers[i]), ""
	}
	return "", "it came after the last round had begun"
}

// LastVote returns the label of the answer that an agent last voted for. void is the reason
// why the vote is void, empty for a valid vote.
func (m *Machine) LastVote(agent int) (label, void string) {
	for i := len(m.s.Votes) - 1; i >= 0; i-- {
		if v := m.s.Votes[i]; v.Voter == agent {
			return v.Label, v.Void
		}
	}
	return "", ""
}
