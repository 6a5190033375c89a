package machine

import "github.com/massgen/massgen/coordinator/kernel"

// ToolState says what became of a call of one of the agent's own tools.
type ToolState string

// The states of a call that is over. A planned one was only described, a denied one was
// not permitted by a rule or a person, a cancelled one was ended with its step, and of an
// interrupted one nobody knows, since its process was lost.
const (
	ToolRan         ToolState = "ran"
	ToolPlanned     ToolState = "planned"
	ToolDenied      ToolState = "denied"
	ToolCancelled   ToolState = "cancelled"
	ToolInterrupted ToolState = "interrupted"
)

// Refusal is a call that is not run, and is no effect. It has the key that it would have
// run under.
type Refusal struct {
	Call ToolCall
	// State is ToolDenied or ToolCancelled, Why the rule, or a person's reason.
	State ToolState
	Why   string
}

// NewRefusals returns the calls that were refused since it was called last.
func (s *Step) NewRefusals() []Refusal {
	refusals := s.s.NewRefusals
	s.s.NewRefusals = nil
	return refusals
}

// refuse books a call that is not run, and returns what its model is told.
func (s *Step) refuse(call ToolCall, why string) *Notice {
	state := ToolDenied
	if s.s.Cancelled {
		state = ToolCancelled
	}
	s.s.NewRefusals = append(s.s.NewRefusals, Refusal{call, state, why})
	return &Notice{Code: NotPermitted, Detail: why}
}

// newCall is the next tool call of the step: number call of a message.
func (s *Step) newCall(c Call, message kernel.Ref, call int) ToolCall {
	e := ToolCall{Key: s.toolKey(s.s.Tools), Message: message, Call: call, Name: c.Name, Shown: s.s.Offer.Shown}
	s.s.Tools++
	return e
}
