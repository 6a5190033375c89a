package turn

import (
	"fmt"
	"slices"
	"strings"

	"github.com/massgen/massgen/internal/coordination/effect"
	"github.com/massgen/massgen/internal/coordination/kernel"
)

// AgentDismissed reports that the turn goes on without an agent.
type AgentDismissed struct{ Agent int }

// MayDismiss returns the place of an agent in the panel. The error says why the turn cannot go
// on without it.
func (m *Machine) MayDismiss(id string) (agent int, err error) {
	if agent = slices.IndexFunc(m.s.Turn.Agents, func(a effect.Agent) bool { return a.ID == id }); agent >= 0 {
		return agent, m.s.Kernel.MayDismiss(agent)
	}
	var ids []string
	for _, a := range m.s.Turn.Agents {
		ids = append(ids, a.ID)
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
