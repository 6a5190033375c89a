package turn

import (
	"fmt"

	"github.com/massgen/massgen/internal/coordination/effect"
	"github.com/massgen/massgen/internal/coordination/kernel"
	"github.com/massgen/massgen/internal/system/blob"
)

// ToolsChanged reports that an agent has other tools of its own from now on. Model calls under way
// keep theirs, and the coordination tools stay.
type ToolsChanged struct {
	At    kernel.Time `json:"at"`
	Agent int         `json:"agent"`
	// Tools is the JSON of a list of backends.Tool, zero for none.
	Tools blob.Ref `json:"tools,omitzero"`
}

func (e ToolsChanged) When() kernel.Time { return e.At }

// NewTools reports other tools. Before and After are as in ToolsChanged.
type NewTools struct {
	Agent         int
	Before, After blob.Ref
}

// Tools returns the reference of the own tools that an agent's next model call may offer.
func (m *Machine) Tools(agent int) blob.Ref {
	if m.s.Tools != nil && m.s.Tools[agent] != nil {
		return *m.s.Tools[agent]
	}
	return m.s.Turn.Agent(agent).Tools
}

func (m *Machine) toolsChanged(ev ToolsChanged) error {
	if ev.Agent < 0 || ev.Agent >= len(m.s.Steps) {
		return fmt.Errorf("there is no agent %d", ev.Agent)
	}
	m.out = append(m.out, NewTools{Agent: ev.Agent, Before: m.Tools(ev.Agent), After: ev.Tools})
	if m.s.Tools == nil {
		m.s.Tools = make([]*blob.Ref, len(m.s.Steps))
	}
	m.s.Tools[ev.Agent] = &ev.Tools
	return nil
}

// withTools returns a model call with the tools of its agent, if they have changed.
func (m *Machine) withTools(e effect.Effect) effect.Effect {
	call, isModel := e.(effect.ModelCall)
	if !isModel || m.s.Tools == nil {
		return e
	}
	call.Tools = m.s.Tools[call.Key.Agent]
	return call
}
