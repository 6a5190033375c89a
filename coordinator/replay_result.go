package coordinator

import (
	"fmt"
	"math"

	"github.com/massgen/massgen/internal/coordination/budget"
	"github.com/massgen/massgen/internal/coordination/kernel"
	"github.com/massgen/massgen/internal/coordination/turn"
	"github.com/massgen/massgen/sessions"
)

// outcome is the part of a turn's stored outcome that the journal determines.
type outcome struct {
	Status   kernel.Status `json:"status"`
	Winner   string        `json:"winner"`
	Answer   string        `json:"answer"`
	Question string        `json:"question"`
	Usage    budget.Usage  `json:"usage"`
}

// compareCut compares the stored usage of an abandoned turn with the usage that this program stores,
// and with those that older programs stored: without the calls under way, or zero if another question
// abandoned the turn.
func compareCut(m *turn.Machine, events []turn.Event, recorded sessions.Turn) error {
	usages := []budget.Usage{m.CutUsage(), usageOf(events), {}}
	return compareResult(outcome{Status: recorded.Status, Question: recorded.Question}, usages, recorded)
}

// compareResult compares a turn's outcome with the stored one. usages are the usages that may
// have been stored, the likeliest first.
func compareResult(rebuilt outcome, usages []budget.Usage, recorded sessions.Turn) error {
	expected := outcome{recorded.Status, recorded.Winner, recorded.Answer, recorded.Question, recorded.Usage}
	rebuilt.Usage = usages[0]
	for _, u := range usages {
		if sameUsage(u, recorded.Usage) {
			rebuilt.Usage = recorded.Usage
		}
	}
	if expected == rebuilt {
		return nil
	}
	d := &Difference{Kind: resultDiffers}
	if err := d.show(expected, rebuilt); err != nil {
		return fmt.Errorf("encode the result: %w", err)
	}
	return d
}

// sameUsage reports whether two usages are equal, except for the rounding of their costs.
func sameUsage(u, v budget.Usage) bool {
	u, v = u.Plus(budget.Usage{}), v.Plus(budget.Usage{}) // without calls there is no cost
	a, b := u.CostUSD, v.CostUSD
	u.CostUSD, v.CostUSD = nil, nil
	if u != v || a == nil || b == nil {
		return u == v && a == b
	}
	return math.Abs(*a-*b) < 1e-9
}

// usageOf adds up the model calls of a journal.
func usageOf(events []turn.Event) (sum budget.Usage) {
	for _, ev := range events {
		if done, ok := ev.(turn.ModelDone); ok {
			sum = sum.Plus(turn.UsageOf(done.Reply))
		}
	}
	return sum
}
