package report

import (
	"cmp"
	"maps"
	"slices"

	"github.com/massgen/massgen/internal/coordination/step"
)

// lead has the answers with the most of the votes that count so far.
type lead struct {
	// Labels are the labels of the answers, in the order of their authors.
	Labels []string `json:"labels"`
	// Votes is the number of votes for each of them, All that for all answers.
	Votes int `json:"votes"`
	All   int `json:"all"`
}

// leading returns who leads the votes, nil before the first vote that counts.
func (s *State) leading() *lead {
	votes := map[string]string{} // labels by voters
	for _, act := range s.Acts {
		if act.Phase == step.PhaseVoted && act.Void == "" {
			votes[act.Agent] = act.Label
		}
	}
	if len(votes) == 0 {
		return nil
	}
	count := map[string]int{}
	for _, voter := range slices.Sorted(maps.Keys(votes)) {
		count[votes[voter]]++
	}
	l := &lead{All: len(votes), Votes: slices.Max(slices.Sorted(maps.Values(count)))}
	for _, label := range slices.Sorted(maps.Keys(count)) {
		if count[label] == l.Votes {
			l.Labels = append(l.Labels, label)
		}
	}
	slices.SortStableFunc(l.Labels, func(a, b string) int { return cmp.Compare(s.author(a), s.author(b)) })
	return l
}

// author returns the place of the agent that gave an answer, -1 for an unknown label.
func (s *State) author(label string) int {
	given := slices.IndexFunc(s.Acts, func(act Act) bool { return act.Label == label && act.Phase != step.PhaseVoted })
	if given < 0 {
		return -1
	}
	return slices.IndexFunc(s.Agents, func(a AgentState) bool { return a.ID == s.Acts[given].Agent })
}

// startOver voids the votes of an attempt that is started over, and its analysis.
func (s *State) startOver() {
	for i := range s.Acts {
		if v := &s.Acts[i]; v.Phase == step.PhaseVoted && v.Void == "" {
			v.Void = "the turn was started over"
		}
	}
	s.Analysis = nil
}
