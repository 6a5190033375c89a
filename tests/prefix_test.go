package tests

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/massgen/massgen/internal/coordination/kernel"
)

// sentInput is a request of a coordination step, with its place in the conversation.
type sentInput struct {
	turn, round         int
	agent               string
	system, user, tools string
}

func (in sentInput) String() string {
	return fmt.Sprintf("%s in round %d of turn %d", in.agent, in.round, in.turn)
}

// older returns the history in the input, without the line that ends it.
func (in sentInput) older() string {
	history, _, hasHistory := strings.Cut(in.user, "\n<END OF CONVERSATION_HISTORY>")
	if !hasHistory {
		return ""
	}
	return history
}

// TestConsecutiveInputsShareTheirBeginning: providers cache what consecutive requests have in common from
// the beginning on. Of two inputs of a round or of an agent that is at least the system message and the
// older history, and the tools are the same but for the last round.
func TestConsecutiveInputsShareTheirBeginning(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		inputs := inputsOfThreeTurns(t)
		if len(inputs) != 3*2*3 {
			t.Fatalf("there are %d inputs", len(inputs))
		}
		inOrder := slices.Clone(inputs)
		slices.SortStableFunc(inOrder, func(a, b sentInput) int {
			return cmp.Or(cmp.Compare(a.turn, b.turn), cmp.Compare(a.round, b.round), cmp.Compare(a.agent, b.agent))
		})
		checkBeginnings(t, inOrder)
		slices.SortStableFunc(inOrder, func(a, b sentInput) int { return cmp.Compare(a.agent, b.agent) })
		checkBeginnings(t, inOrder)
	})
}

// checkBeginnings compares each input with the next, if they are of one round or of one agent.
func checkBeginnings(t *testing.T, inputs []sentInput) {
	t.Helper()
	for i, next := range inputs[1:] {
		in := inputs[i]
		sameRound := in.turn == next.turn && in.round == next.round
		if !sameRound && in.agent != next.agent {
			continue
		}
		// The system message of the first turn ends where later ones go on about the conversation.
		isFirst := in.turn == 1 && next.turn > 1
		if want := len(in.system); isFirst && (want != 389 || !strings.HasPrefix(next.system, in.system)) || !isFirst && next.system != in.system {
			t.Errorf("%s and %s share less than the system message of %d characters", in, next, want)
		}
		if !strings.HasPrefix(next.user, in.older()) {
			t.Errorf("%s and %s share less than the older history:\n%s\n---\n%s", in, next, in.user, next.user)
		}
		if sameRound && in.user != next.user {
			t.Errorf("%s and %s have different user messages", in, next)
		}
		if isLast := func(in sentInput) bool { return in.round == 2 }; isLast(in) == isLast(next) && in.tools != next.tools {
			t.Errorf("%s and %s have different tools:\n%s\n%s", in, next, in.tools, next.tools)
		}
	}
}

// inputsOfThreeTurns plays three turns of three agents, of which the second round is the last.
func inputsOfThreeTurns(t *testing.T) (inputs []sentInput) {
	blind := func(rules *kernel.Config) { rules.Decider = kernel.Blind }
	p := newPanel(t, panelOptions{agents: 3, pipe: true, rules: blind}, agreeable)
	asked := 0
	for n, question := range []string{"How many suns?", "And moons?", awkward} {
		if r := p.ask(t, question); r.Status != kernel.Completed || len(r.Failed) > 0 {
			t.Fatalf("status %s, failed %+v", r.Status, r.Failed)
		}
		calls := p.server.Calls()
		for _, c := range calls[asked:] {
			round := 2
			if isBlind(c) {
				round = 1
			}
			messages := c.Messages()
			tools, err := json.Marshal(c.Request().Tools)
			if err != nil {
				t.Fatal(err)
			}
			inputs = append(inputs, sentInput{n + 1, round, c.Model(), messages[0].Text(), messages[1].Text(), string(tools)})
		}
		asked = len(calls)
	}
	return inputs
}
