package turn

import (
	"errors"
	"slices"

	"github.com/massgen/massgen/internal/coordination/effect"
	"github.com/massgen/massgen/internal/coordination/kernel"
)

// Paused is a person's pause: calls under way go on, and nothing new starts until Unpaused,
// Interrupted, or a process that resumes the turn.
type Paused struct {
	At kernel.Time `json:"at"`
}

// Unpaused ends a person's pause.
type Unpaused struct {
	At kernel.Time `json:"at"`
}

func (e Paused) When() kernel.Time   { return e.At }
func (e Unpaused) When() kernel.Time { return e.At }

// Clock stops the turn's clock, or starts it again: the turn's time stands still while the turn
// is paused.
type Clock struct{ Runs bool }

// Held is an effect that waits until the turn is no longer paused: one of the two.
type Held struct {
	Model *effect.ModelCall `json:"model,omitempty"`
	Tool  *effect.ToolCall  `json:"tool,omitempty"`
}

func (h Held) effect() effect.Effect {
	if h.Model != nil {
		return *h.Model
	}
	return *h.Tool
}

// pause is the state of a turn that a person may have paused.
type pause struct {
	IsPaused bool   `json:"is_paused,omitempty"`
	Held     []Held `json:"held,omitempty"`
}

// IsPaused reports whether a person has paused the turn.
func (m *Machine) IsPaused() bool { return m.s.Pause.IsPaused }

func (m *Machine) paused() error {
	if m.Over() || m.IsPaused() {
		return errors.New("the turn is over, or paused already")
	}
	m.s.Pause.IsPaused = true
	m.out = append(m.out, Clock{Runs: false})
	return nil
}

func (m *Machine) unpaused() error {
	if !m.IsPaused() {
		return errors.New("the turn is not paused")
	}
	m.goOn()
	return nil
}

// goOn starts the held effects, if the turn was paused.
func (m *Machine) goOn() {
	if !m.IsPaused() {
		return
	}
	m.out = append(m.out, Clock{Runs: true})
	for _, h := range m.s.Pause.Held {
		m.out = append(m.out, Run{m.recalled(h)})
	}
	m.s.Pause = pause{}
}

// hold holds the effects of a paused turn. Those of a cancelled agent start all the same, since
// each must have its one result.
func (m *Machine) hold() {
	if !m.IsPaused() {
		return
	}
	var out []Command
	for _, c := range m.out {
		if run, ok := c.(Run); ok {
			m.s.Pause.Held = append(m.s.Pause.Held, heldOf(run.Effect))
			continue
		}
		out = append(out, c)
		if cancel, ok := c.(kernel.Cancel); ok {
			out = m.release(out, cancel.Agent)
		}
	}
	m.out = out
}

func (m *Machine) release(out []Command, agent int) []Command {
	m.s.Pause.Held = slices.DeleteFunc(m.s.Pause.Held, func(h Held) bool {
		its := h.effect().EffectKey().Agent == agent
		if its {
			out = append(out, Run{m.recalled(h)})
		}
		return its
	})
	return out
}

// recalled returns a held effect as it starts now: a model call has the notes, the answers and
// the tools that have come meanwhile.
func (m *Machine) recalled(h Held) effect.Effect {
	if h.Model == nil || h.Model.Key.Agent == effect.NoAgent {
		return h.effect()
	}
	call, ok := m.s.Steps[h.Model.Key.Agent].Step.Recall()
	if !ok {
		return *h.Model
	}
	return m.withTools(call)
}

func heldOf(e effect.Effect) Held {
	switch e := e.(type) {
	case effect.ModelCall:
		return Held{Model: &e}
	case effect.ToolCall:
		return Held{Tool: &e}
	}
	panic("an effect is a model call or a tool call")
}

// isHeld reports whether the pause holds an effect.
func (m *Machine) isHeld(key effect.Key) bool {
	return slices.ContainsFunc(m.s.Pause.Held, func(h Held) bool { return h.effect().EffectKey() == key })
}
