package turn

import "github.com/massgen/massgen/internal/coordination/effect"

// Carried returns the tool calls that the next input of an agent has, with their results, oldest first. They are
// of earlier rounds and turns, and nil without Agent.Carry. The caller must not change them.
func (m *Machine) Carried(agent int) []effect.Entry {
	carry := m.s.Turn.Agent(agent).Carry
	switch {
	case carry == nil:
		return nil
	case m.s.Carried == nil || m.s.Carried[agent] == nil:
		return carry.Earlier
	}
	return m.s.Carried[agent]
}

// carryStep adds the tool calls of a step that has ended to those that the agent's later inputs have.
func (m *Machine) carryStep(agent int, transcript []effect.Entry) {
	carry := m.s.Turn.Agent(agent).Carry
	if carry == nil || m.s.Turn.IsAlone() { // an agent alone has them in its history
		return
	}
	carried := carry.With(m.Carried(agent), transcript)
	if m.s.Carried == nil {
		m.s.Carried = make([][]effect.Entry, len(m.s.Steps))
	}
	m.s.Carried[agent] = carried
}
