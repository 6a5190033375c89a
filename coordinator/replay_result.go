package coordinator

import (
	"encoding/json"
	"fmt"
	"math"

	"github.com/massgen/massgen/coordinator/kernel"
	"github.com/massgen/massgen/coordinator/turn"
	"github.com/massgen/massgen/sessions"
)

// outcome is what a store keeps of how a turn ended, as far as its journal says it.
type outcome struct {
	Status   kernel.Status  `json:"status"`
	Winner   string         `json:"winner"`
	Answer   string         `json:"answer"`
	Question string         `json:"question"`
	Usage    sessions.Usage `json:"usage"`
}

// rebuilt is an outcome by the machine. Its usages are those that the turn may have been
// kept with, the likeliest first.
type rebuilt struct {
	outcome
	usages []turn.Usage
}

// outcomeOf is that of a turn that is over. Whether its usage has the calls that followed
// the answer depends on whether the process came to add them.
func outcomeOf(m *turn.Machine, r Replayed, question string) rebuilt {
	return rebuilt{
		outcome{Status: r.Status, Winner: r.Winner, Answer: r.Answer, Question: question},
		[]turn.Usage{m.AllUsage(), usageOfAnswer(m)},
	}
}

// compareCut compares the usage of a turn that was given up, as this program does it, and as
// older ones did: without the calls under way, or where another question came with none.
func compareCut(m *turn.Machine, events []turn.Event, kept sessions.Turn) error {
	return compareResult(rebuilt{
		outcome{Status: kept.Status, Question: kept.Question},
		[]turn.Usage{m.CutUsage(), usageOf(events), {}},
	}, kept)
}

// compareResult compares what a turn has come to with what is stored of it.
func compareResult(r rebuilt, kept sessions.Turn) error {
	recorded := outcome{kept.Status, kept.Winner, kept.Answer, kept.Question, kept.Usage}
	r.Usage = sessions.Usage(r.usages[0])
	for _, u := range r.usages {
		if sameUsage(sessions.Usage(u), kept.Usage) {
			r.Usage = kept.Usage
		}
	}
	if recorded == r.outcome {
		return nil
	}
	before, err := json.MarshalIndent(recorded, "", "  ")
	if err != nil {
		return fmt.Errorf("encode the result: %w", err)
	}
	after, err := json.MarshalIndent(r.outcome, "", "  ")
	if err != nil {
		return fmt.Errorf("encode the result: %w", err)
	}
	return &Difference{Kind: ResultDiffers, RecordedText: string(before), RebuiltText: string(after)}
}

// sameUsage says that two usages are the same, but for how their costs were rounded.
func sameUsage(u, v sessions.Usage) bool {
	u, v = u.Plus(sessions.Usage{}), v.Plus(sessions.Usage{}) // without calls there is no cost
	a, b := u.CostUSD, v.CostUSD
	u.CostUSD, v.CostUSD = nil, nil
	if u != v || a == nil || b == nil {
		return u == v && a == b
	}
	return math.Abs(*a-*b) < 1e-9
}

// usageOf adds up the model calls of a journal.
func usageOf(events []turn.Event) (sum turn.Usage) {
	for _, ev := range events {
		if done, ok := ev.(turn.ModelDone); ok {
			sum = sum.Plus(turn.UsageOf(done.Reply))
		}
	}
	return sum
}
