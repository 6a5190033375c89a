package coordinator

import (
	"fmt"
	"math"

	"github.com/massgen/massgen/internal/budget"
	"github.com/massgen/massgen/internal/kernel"
	"github.com/massgen/massgen/internal/turn"
	"github.com/massgen/massgen/sessions"
)

// outcome is what a store keeps of how a turn ended, as far as its journal says it.
type outcome struct {
	Status   kernel.Status `json:"status"`
	Winner   string        `json:"winner"`
	Answer   string        `json:"answer"`
	Question string        `json:"question"`
	Usage    budget.Usage  `json:"usage"`
}

// compareCut compares the usage of a turn that was given up, as this program does it, and as
// older ones did: without the calls under way, or where another question came with none.
func compareCut(m *turn.Machine, events []turn.Event, kept sessions.Turn) error {
	usages := []budget.Usage{m.CutUsage(), usageOf(events), {}}
	return compareResult(outcome{Status: kept.Status, Question: kept.Question}, usages, kept)
}

// compareResult compares what a turn has come to with what is stored of it. The usages are
// those that it may have been stored with, the likeliest first.
func compareResult(rebuilt outcome, usages []budget.Usage, kept sessions.Turn) error {
	recorded := outcome{kept.Status, kept.Winner, kept.Answer, kept.Question, kept.Usage}
	rebuilt.Usage = usages[0]
	for _, u := range usages {
		if sameUsage(u, kept.Usage) {
			rebuilt.Usage = kept.Usage
		}
	}
	if recorded == rebuilt {
		return nil
	}
	d := &Difference{Kind: ResultDiffers}
	if err := d.show(recorded, rebuilt); err != nil {
		return fmt.Errorf("encode the result: %w", err)
	}
	return d
}

// sameUsage says that two usages are the same, but for how their costs were rounded.
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
