package turn

import (
	"slices"

	"github.com/massgen/massgen/internal/coordination/effect"
	"github.com/massgen/massgen/internal/system/blob"
)

// Partial is the received part of a message whose call was cancelled, cut or timed out, or
// failed otherwise. It is for people, and is never an answer.
type Partial struct {
	Key effect.Key `json:"key"`
	// Reason is the kind of the failure.
	Reason string   `json:"reason"`
	Text   blob.Ref `json:"text"`
}

// recordPartial records the received part of an agent's message. It replaces the one with which
// its step would have ended before.
func (m *Machine) recordPartial(ev ModelDone) {
	m.s.Steps[ev.Key.Agent].Partial = ev.Reply.Partial
	if f := ev.Reply.Failure; f != nil && ev.Reply.Partial != (blob.Ref{}) {
		m.s.Partials = append(m.s.Partials, Partial{ev.Key, f.Kind, ev.Reply.Partial})
	}
}

// Partials returns the received parts of agents' messages whose calls failed, in the order in
// which these ended.
func (m *Machine) Partials() []Partial { return slices.Clone(m.s.Partials) }
