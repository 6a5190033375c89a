package turn

import (
	"fmt"
	"slices"
	"strings"

	"github.com/massgen/massgen/internal/coordination/kernel"
	"github.com/massgen/massgen/internal/coordination/machine"
)

// Dismissed is a person's decision to go on without an agent: its calls are cancelled, and it
// makes no further call in this turn.
type Dismissed struct {
	At    kernel.Time `json:"at"`
	Agent int         `json:"agent"`
}

func (e Dismissed) at() kernel.Time { return e.At }

func (Dismissed) kind() string { return "dismissed" }

// AgentDismissed says that the turn goes on without an agent.
type AgentDismissed struct{ Agent int }

func (AgentDismissed) command() {}

// MayDismiss returns the place of an agent in the panel. The error says why the turn cannot go
// on without it.
func (m *Machine) MayDismiss(id string) (agent int, err error) {
	if agent = slices.IndexFunc(m.s.Turn.Agents, func(a machine.Agent) bool { return a.ID == id }); agent >= 0 {
		return agent, m.s.Kernel.MayDismiss(agent)
	}
	var ids []string
	for _, a := range m.s.Turn.Agents {
		ids = append(ids, a.ID)
	}
	return 0, fmt.Errorf("the panel has no such agent; its agents are %s", strings.Join(ids, ", "))
}

func (m *Machine) dismissed(ev Dismissed) error {
	if err := m.s.Kernel.MayDismiss(ev.Agent); err != nil {
		return fmt.Errorf("agent %d: %w", ev.Agent, err)
	}
	m.out = append(m.out, AgentDismissed{ev.Agent})
	return m.decide(kernel.Dismissed{At: ev.At, Agent: ev.Agent})
}
