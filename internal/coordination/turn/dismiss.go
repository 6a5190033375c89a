package turn

import (
	"fmt"
	"strings"

	"github.com/massgen/massgen/internal/coordination/kernel"
)

// AgentDismissed reports that the turn goes on without an agent.
type AgentDismissed struct{ Agent int }

// MayDismiss returns the place of an agent in the panel. The error says why the turn cannot go
// on without it.
func (m *Machine) MayDismiss(id string) (agent int, err error) {
	var ids []string
	for i := range m.s.Turn.Size() {
		switch a := m.s.Turn.Agent(i); {
		case a == nil:
		case a.ID == id:
			return i, m.s.Kernel.MayDismiss(i)
		default:
			ids = append(ids, a.ID)
		}
	}
	return 0, fmt.Errorf("the panel has no such agent; its agents are %s", strings.Join(ids, ", "))
}

func (m *Machine) dismissed(ev kernel.Dismissed) error {
	if err := m.s.Kernel.MayDismiss(ev.Agent); err != nil {
		return fmt.Errorf("agent %d: %w", ev.Agent, err)
	}
	m.out = append(m.out, AgentDismissed{ev.Agent})
	return m.decide(ev)
}
