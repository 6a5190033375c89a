package configs

import (
	"fmt"

	"github.com/massgen/massgen/internal/coordination/election"
	"github.com/massgen/massgen/internal/coordination/kernel"
)

// CallCount is how many model calls a turn makes, without those for tools and for replies that come
// to nothing.
type CallCount struct {
	// Least and Most are the bounds. IsOpen reports that there may be more than Most: agents may
	// improve their answers.
	Least  int  `json:"least"`
	Most   int  `json:"most"`
	IsOpen bool `json:"and_more,omitempty"`
}

// String returns the count in words, such as "2 to 6".
func (c CallCount) String() string {
	text := fmt.Sprint(c.Most)
	if c.Least < c.Most {
		text = fmt.Sprintf("%d to %d", c.Least, c.Most)
	}
	if c.IsOpen {
		text += " or more"
	}
	return text
}

// MostCalls counts the most model calls of a turn, without those for tools and for replies that come to
// nothing: Each is of each agent, Final of the one that presents, Judge and Verdict of the consultants.
type MostCalls struct{ Each, Final, Judge, Verdict int }

// MostCalls returns the most calls of a turn of the panel.
func (c *Config) MostCalls() MostCalls {
	rules := c.Orchestrator.Rules
	if len(c.Agents) == 1 {
		return MostCalls{Each: 1}
	}
	most := MostCalls{Each: rules.MaxRounds}
	switch rules.Decider {
	case kernel.ByValue:
		most.Each = 1
	case kernel.Blind:
		most.Each = 2
	case kernel.ByJudge: // the agents vote if the judge fails
		most.Each, most.Judge = 2, 1
		if rules.BothOrders {
			most.Judge++
		}
	}
	switch rules.Final {
	case kernel.SynthesizeByJudge:
		most.Judge++
	case kernel.WinnerPresent, kernel.Synthesize:
		most.Final++
	}
	if rules.Analysis && rules.Decider != kernel.ByJudge {
		most.Judge++
	}
	if rules.Ties == election.ByJudge {
		most.Judge++
	}
	if rules.Agree == kernel.AgreeByVerdict && rules.VerdictByOther {
		most.Verdict = len(rules.Stages)
	} else if rules.Agree == kernel.AgreeByVerdict {
		most.Judge += len(rules.Stages)
	}
	if tries := c.Orchestrator.Check.Tries; tries > 1 {
		most.Each, most.Final = most.Each*tries, most.Final*tries
	}
	if attempts := rules.MaxRestarts + 1; attempts > 1 {
		most = MostCalls{most.Each * attempts, most.Final*attempts + rules.MaxRestarts, most.Judge * attempts, most.Verdict * attempts}
	}
	return most
}

// Calls returns how many model calls a turn of the panel makes.
func (c *Config) Calls() CallCount {
	n, rules := len(c.Agents), c.Orchestrator.Rules
	if n == 1 {
		return CallCount{Least: 1, Most: 1}
	}
	count := CallCount{Least: n, Most: n}
	switch rules.Decider {
	case kernel.ByValue:
	case kernel.ByJudge:
		count.Most++
		if rules.BothOrders {
			count.Most++
		}
		if rules.Final == kernel.SynthesizeByJudge {
			count.Most++
		}
	case kernel.Blind:
		count.Most += n
	default:
		count.Most += n
		count.IsOpen = rules.MaxRounds > 2
	}
	if rules.Final == kernel.WinnerPresent || rules.Final == kernel.Synthesize {
		count.Most++
	}
	if rules.Analysis && rules.Decider != kernel.ByJudge {
		count.Most++
	}
	if rules.MaxRestarts > 0 {
		count.Most, count.IsOpen = count.Most+1, true // a review, after which all may start over
	}
	count.IsOpen = count.IsOpen || c.Orchestrator.Check.Tries > 1
	least := count.Most
	if rules.Ties == election.ByJudge {
		count.Most++
	}
	if rules.StopEarly {
		least -= n / 2 // those whose votes or answers come too late to matter
	}
	if len(rules.Stages) > 0 {
		count.Least = len(rules.Stages[0])
		if rules.Agree == kernel.AgreeByVerdict {
			count.Most += len(rules.Stages)
		}
		return count
	}
	count.Least = least
	return count
}
