package election

import (
	"fmt"
	"math"
	"slices"
)

// MaxWeight is the largest weight of a ballot.
const MaxWeight = 1000

// Check returns an error if the rule, ties, quorum and weights of e are no rules for so many
// agents.
func (e Election) Check(agents int) error {
	rules := []Rule{"", AllVoted, Majority, Unanimous, Quorum, Approval, Ranked}
	if !slices.Contains(rules, e.Rule) {
		return fmt.Errorf("decision %q: it is all_voted, majority, unanimous, quorum, approval or ranked", e.Rule)
	}
	if !slices.Contains([]Ties{"", ByConfig, Earliest, ByJudge, NoTies}, e.Ties) {
		return fmt.Errorf("ties %q: it is config, earliest, judge or none", e.Ties)
	}
	if e.Weights != nil && len(e.Weights) != agents {
		return fmt.Errorf("weights: there are %d for %d agents", len(e.Weights), agents)
	}
	sum := agents
	if e.Weights != nil {
		sum = 0
	}
	for _, w := range e.Weights {
		if w < 1 || w > MaxWeight {
			return fmt.Errorf("weights: %d is not between 1 and %d", w, MaxWeight)
		}
		sum += w
	}
	return e.checkQuorum(sum)
}

func (e Election) checkQuorum(sum int) error {
	if e.Rule != Quorum {
		if e.Quorum != 0 {
			return fmt.Errorf("quorum: decision %s has none", e.Rule)
		}
		return nil
	}
	isShare := e.Quorum > 0 && e.Quorum < 1
	isWhole := e.Quorum >= 1 && e.Quorum == math.Trunc(e.Quorum)
	if !isShare && !isWhole {
		return fmt.Errorf("quorum %v: it is a whole number from 1 on, or a share between 0 and 1", e.Quorum)
	}
	if e.Quorum > float64(sum) {
		return fmt.Errorf("quorum %v: all votes together weigh %d", e.Quorum, sum)
	}
	return nil
}
