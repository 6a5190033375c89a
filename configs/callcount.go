package configs

import (
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
	if len(rules.Stages) > 0 {
		count.Least = len(rules.Stages[0])
		if rules.Agree == kernel.AgreeByVerdict {
			count.Most += len(rules.Stages)
		}
		return count
	}
	count.Least = count.Most
	return count
}
