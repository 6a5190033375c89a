package inspect

import (
	"context"
	"fmt"

	"github.com/massgen/massgen/coordinator"
	"github.com/massgen/massgen/debugbackend"
)

// Calls reads the calls of a turn from its journal, as a dump has them. It skips a damaged call and passes
// the reason to warn.
func Calls(ctx context.Context, r coordinator.Recording, session string, turn int, warn func(string)) (calls []debugbackend.Call) {
	past, err := coordinator.ReadCalls(ctx, r, session, turn)
	if err != nil {
		warn(err.Error())
	}
	numbers := map[string]int{}
	for _, p := range past {
		by := p.Request.Key.Agent
		numbers[by]++
		outcome := debugbackend.Outcome("")
		switch {
		case p.Failure != "":
			outcome = debugbackend.OutcomeFailed
		case p.IsOver:
			outcome = debugbackend.OutcomeEnded
		}
		if p.Lost != nil {
			warn(fmt.Sprintf("%s: %v", p.Request.Key, p.Lost))
		}
		calls = append(calls, debugbackend.Kept(numbers[by], p.Participants, p.Request, p.Response, outcome, p.Failure))
	}
	return calls
}
