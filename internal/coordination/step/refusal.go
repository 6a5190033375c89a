package step

import (
	"github.com/massgen/massgen/internal/coordination/effect"
	"github.com/massgen/massgen/internal/system/blob"
)

// Refusal is a call that does not run. Its key is the key under which it would have run; the index of
// a ToolRefused call is NoIndex, because such a call does not count.
type Refusal struct {
	Call effect.ToolCall
	// State is ToolDenied, ToolRefused or ToolCancelled. Why is the rule, a person's reason, or
	// the step's.
	State effect.ToolState
	Why   string
}

// NewRefusals returns the calls that were refused since its last call.
func (s *Machine) NewRefusals() []Refusal {
	refusals := s.s.NewRefusals
	s.s.NewRefusals = nil
	return refusals
}

// refuse books a call that does not run, and returns the notice for its model.
func (s *Machine) refuse(call effect.ToolCall, why string) *effect.Notice {
	state := effect.ToolDenied
	if s.s.Cancelled {
		state = effect.ToolCancelled
	}
	s.s.NewRefusals = append(s.s.NewRefusals, Refusal{call, state, why})
	return &effect.Notice{Code: effect.NotPermitted, Detail: why}
}

// turnDown books a call of a tool that is not offered, or one too many. An act in JSON is no
// tool call.
func (s *Machine) turnDown(c effect.Call, message blob.Ref, call int, why string) {
	if s.s.JSON {
		return
	}
	e := effect.ToolCall{Key: s.toolKey(effect.NoIndex), Message: message, Call: call, Name: c.Name, Shown: s.s.Offer.Shown}
	s.s.NewRefusals = append(s.s.NewRefusals, Refusal{e, effect.ToolRefused, why})
}

// newCall returns the next tool call of the step: number call of a message.
func (s *Machine) newCall(c effect.Call, message blob.Ref, call int) effect.ToolCall {
	e := effect.ToolCall{Key: s.toolKey(s.s.Tools), Message: message, Call: call, Name: c.Name, Shown: s.s.Offer.Shown}
	s.s.Tools++
	return e
}
