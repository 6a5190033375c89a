package turn

import (
	"slices"

	"github.com/massgen/massgen/agents/machine"
	"github.com/massgen/massgen/coordinator/kernel"
)

// Partial is what had come of a message whose call was cancelled, cut or timed out, or
// failed in another way. It is for people, and is never an answer.
type Partial struct {
	Key machine.Key `json:"key"`
	// Reason is the kind of the failure.
	Reason string     `json:"reason"`
	Text   kernel.Ref `json:"text"`
}

// PartialOf returns what an event kept of a message; ok is false if it kept nothing.
func PartialOf(ev Event) (p Partial, ok bool) {
	done, isReply := ev.(ModelDone)
	if !isReply || done.Reply.Failure == nil || done.Reply.Partial == (kernel.Ref{}) {
		return Partial{}, false
	}
	return Partial{done.Key, done.Reply.Failure.Kind, done.Reply.Partial}, true
}

// notePartial books what had come of an agent's message, and forgets with which its step
// would have ended before.
func (m *Machine) notePartial(ev ModelDone) {
	m.s.Steps[ev.Key.Agent].Partial = ev.Reply.Partial
	if p, ok := PartialOf(ev); ok {
		m.s.Partials = append(m.s.Partials, p)
	}
}

// Partials returns what had come of agents' messages whose calls failed, in the order in
// which these ended.
func (m *Machine) Partials() []Partial { return slices.Clone(m.s.Partials) }
