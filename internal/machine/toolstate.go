package machine

import "github.com/massgen/massgen/internal/blob"

// ToolState says what became of a call of one of the agent's own tools.
type ToolState string

// The states of a call that is over. A planned one was only described, a denied one was
// not permitted by a rule or a person, a refused one was of a tool that is not on offer,
// or one too many, a cancelled one was ended with its step, and of an interrupted one
// nobody knows, since its process was lost.
const (
	ToolRan         ToolState = "ran"
	ToolPlanned     ToolState = "planned"
	ToolDenied      ToolState = "denied"
	ToolRefused     ToolState = "refused"
	ToolCancelled   ToolState = "cancelled"
	ToolInterrupted ToolState = "interrupted"
)

// Refusal is a call that is not run, and is no effect. It has the key that it would have
// run under; one that is ToolRefused would not have, and has the index NoIndex.
type Refusal struct {
	Call ToolCall
	// State is ToolDenied, ToolRefused or ToolCancelled. Why is the rule, a person's
	// reason, or that of the step.
	State ToolState
	Why   string
}

// NoIndex stands in the key of a call that does not count among those of its step.
const NoIndex = -1

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

// turnDown books a call of a tool that is not on offer, or of one too many. What was asked
// for in JSON was no call of a tool.
func (s *Step) turnDown(c Call, message blob.Ref, call int, why string) {
	if s.s.JSON {
		return
	}
	e := ToolCall{Key: s.toolKey(NoIndex), Message: message, Call: call, Name: c.Name, Shown: s.s.Offer.Shown}
	s.s.NewRefusals = append(s.s.NewRefusals, Refusal{e, ToolRefused, why})
}

// newCall is the next tool call of the step: number call of a message.
func (s *Step) newCall(c Call, message blob.Ref, call int) ToolCall {
	e := ToolCall{Key: s.toolKey(s.s.Tools), Message: message, Call: call, Name: c.Name, Shown: s.s.Offer.Shown}
	s.s.Tools++
	return e
}
