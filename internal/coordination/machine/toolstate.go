package machine

import "github.com/massgen/massgen/internal/system/blob"

// ToolState is the outcome of a call of one of the agent's own tools.
type ToolState string

// The states of a call that is over. A planned call was only described. A denied one was not
// permitted by a rule or a person. A refused one was of a tool that was not offered, or one too
// many. A cancelled one ended with its step. The outcome of an interrupted one is unknown,
// since its process was lost.
const (
	ToolRan         ToolState = "ran"
	ToolPlanned     ToolState = "planned"
	ToolDenied      ToolState = "denied"
	ToolRefused     ToolState = "refused"
	ToolCancelled   ToolState = "cancelled"
	ToolInterrupted ToolState = "interrupted"
)

// Refusal is a call that does not run, and is no effect. It has the key that it would have run
// under. A ToolRefused one would have had none, and has the index NoIndex.
type Refusal struct {
	Call ToolCall
	// State is ToolDenied, ToolRefused or ToolCancelled. Why is the rule, a person's reason, or
	// the step's.
	State ToolState
	Why   string
}

// NoIndex is the index of a call that does not count among those of its step.
const NoIndex = -1

// NewRefusals returns the calls that were refused since its last call.
func (s *Step) NewRefusals() []Refusal {
	refusals := s.s.NewRefusals
	s.s.NewRefusals = nil
	return refusals
}

// refuse books a call that does not run, and returns the notice for its model.
func (s *Step) refuse(call ToolCall, why string) *Notice {
	state := ToolDenied
	if s.s.Cancelled {
		state = ToolCancelled
	}
	s.s.NewRefusals = append(s.s.NewRefusals, Refusal{call, state, why})
	return &Notice{Code: NotPermitted, Detail: why}
}

// turnDown books a call of a tool that is not offered, or one too many. An act in JSON is no
// tool call.
func (s *Step) turnDown(c Call, message blob.Ref, call int, why string) {
	if s.s.JSON {
		return
	}
	e := ToolCall{Key: s.toolKey(NoIndex), Message: message, Call: call, Name: c.Name, Shown: s.s.Offer.Shown}
	s.s.NewRefusals = append(s.s.NewRefusals, Refusal{e, ToolRefused, why})
}

// newCall returns the next tool call of the step: number call of a message.
func (s *Step) newCall(c Call, message blob.Ref, call int) ToolCall {
	e := ToolCall{Key: s.toolKey(s.s.Tools), Message: message, Call: call, Name: c.Name, Shown: s.s.Offer.Shown}
	s.s.Tools++
	return e
}
