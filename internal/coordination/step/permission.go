package step

import (
	"slices"

	"github.com/massgen/massgen/internal/coordination/effect"
)

// NewPermissionRequests returns the questions that have come up since its last call.
func (s *Machine) NewPermissionRequests() []effect.PermissionRequest {
	asks := s.s.NewPermissionRequests
	s.s.NewPermissionRequests = nil
	return asks
}

// requestPermission asks a person about a call. Its entry waits like the entry of a running tool.
func (s *Machine) requestPermission(call effect.ToolCall, why string, entry int) {
	ask := effect.PermissionRequest{Key: call.Key, Message: call.Message, Call: call.Call, Name: call.Name, Why: why}
	s.s.Pending = append(s.s.Pending, pending{Index: call.Key.Index, Entry: entry, Permission: &ask})
	s.s.NewPermissionRequests = append(s.s.NewPermissionRequests, ask)
}

// Permit applies a person's answer to the PermissionRequest whose key has the index, and returns
// the effects to run now. A call that may not run gets the reason, which may be empty, as its
// result. If nothing waits for the answer, since the step was cancelled meanwhile, Permit changes
// nothing.
func (s *Machine) Permit(index int, allow bool, reason string) []effect.Effect {
	i := slices.IndexFunc(s.s.Pending, func(p pending) bool { return p.Index == index && p.Permission != nil })
	if i < 0 {
		return nil
	}
	p := &s.s.Pending[i]
	ask := p.Permission
	call := effect.ToolCall{Key: ask.Key, Message: ask.Message, Call: ask.Call, Name: ask.Name, Shown: s.s.Offer.Shown, Asked: true}
	if allow && !s.s.Cancelled {
		p.Permission = nil
		return []effect.Effect{call}
	}
	s.s.Transcript[p.Entry].Notice = s.refuse(call, reason)
	return s.settle(i)
}
