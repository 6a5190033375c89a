package turn_test

import (
	"testing"

	"github.com/massgen/massgen/internal/coordination/budget"
	"github.com/massgen/massgen/internal/coordination/effect"
	"github.com/massgen/massgen/internal/coordination/kernel"
	"github.com/massgen/massgen/internal/coordination/turn"
)

// TestLostCallIsPaidForAndAsksAgain: what was held for it stays spent, who waits for the
// budget has paid nothing, and a call that nobody waits for cannot be lost.
func TestLostCallIsPaidForAndAsksAgain(t *testing.T) {
	rules, calls := kernel.Defaults(), 2
	rules.Agents = []string{"a", "b"}
	m := &turn.Machine{}
	apply := func(ev turn.Event) []turn.Command {
		t.Helper()
		commands, err := m.Apply(ev)
		if err != nil {
			t.Fatal(err)
		}
		return commands
	}
	apply(turn.Accepted{Rules: rules, Turn: effect.Turn{Agents: make([]effect.Agent, 2), Limits: effect.DefaultLimits()}, Budget: budget.Allowance{Limits: budget.Limits{Calls: &calls}}})
	key := func(agent int) effect.Key {
		return effect.Key{Agent: agent, Round: 1, Purpose: effect.Coordination}
	}
	most := budget.Amount{Calls: 1}
	apply(turn.Reserving{Key: key(0), Most: most})
	apply(turn.Lost{Key: key(0)})
	ledger := m.Ledger()
	if used := ledger.Used(); used.Calls != 1 || m.Repeated() != 1 || m.Usage()[0].UnknownCalls != 1 {
		t.Errorf("used %+v, repeated %d, usage %+v", used, m.Repeated(), m.Usage())
	}
	if got := apply(turn.Reserving{Key: key(0), Most: most}); len(got) != 1 || got[0] != turn.Command(turn.Granted{Key: key(0)}) {
		t.Errorf("it asks again: %+v", got)
	}
	apply(turn.Reserving{Key: key(1), Most: most}) // held up
	apply(turn.Lost{Key: key(1)})
	if m.Repeated() != 1 || m.Usage()[1].Calls != 0 {
		t.Errorf("repeated %d, usage %+v", m.Repeated(), m.Usage())
	}
	if _, err := m.Apply(turn.Lost{Key: effect.Key{Agent: 1, Round: 7}}); err == nil {
		t.Error("a call that nobody waits for was lost")
	}
}
