package machine

import (
	"slices"

	"github.com/massgen/massgen/internal/coordination/kernel"
	"github.com/massgen/massgen/internal/system/blob"
)

// Permission says whether a call of one of the agent's own tools may run. It is decided
// beside the effect, by rules about the tool and its arguments.
type Permission string

// The permissions. Allowed is the zero value's meaning.
const (
	Allowed Permission = ""
	Asked   Permission = "ask"
	Denied  Permission = "deny"
)

// PermissionRequest is a question for a person: whether a tool call may run. It is no effect, since
// nothing is in flight while it waits.
type PermissionRequest struct {
	// Key is the key of the ToolCall that follows if the person allows it.
	Key     Key      `json:"key"`
	Message blob.Ref `json:"message"`
	Call    int      `json:"call"`
	Name    string   `json:"name"`
	// Why is the rule that leaves the call to a person.
	Why string `json:"why,omitempty"`
}

func (a PermissionRequest) toolCall(shown []kernel.Answer) ToolCall {
	return ToolCall{Key: a.Key, Message: a.Message, Call: a.Call, Name: a.Name, Shown: shown, Asked: true}
}

// Approval is a person's answer to a PermissionRequest, by the index in its key.
type Approval struct {
	Index int  `json:"index"`
	Allow bool `json:"allow"`
	// Reason is the reason of a denial, for the model; it may be empty.
	Reason string `json:"reason,omitempty"`
}

func (Approval) event() {}

// NewPermissionRequests returns the questions that have come up since its last call.
func (s *Step) NewPermissionRequests() []PermissionRequest {
	asks := s.s.NewPermissionRequests
	s.s.NewPermissionRequests = nil
	return asks
}

// requestPermission puts a call to a person. Its entry waits as that of a running tool does.
func (s *Step) requestPermission(call ToolCall, why string, entry int) {
	ask := PermissionRequest{Key: call.Key, Message: call.Message, Call: call.Call, Name: call.Name, Why: why}
	s.s.Pending = append(s.s.Pending, pending{Index: call.Key.Index, Entry: entry, Permission: &ask})
	s.s.NewPermissionRequests = append(s.s.NewPermissionRequests, ask)
}

// applyApproval lets a call run, or gives it its result. An answer that nothing waits for
// changes nothing: its step was cancelled while the person thought.
func (s *Step) applyApproval(ev Approval) []Effect {
	i := slices.IndexFunc(s.s.Pending, func(p pending) bool { return p.Index == ev.Index && p.Permission != nil })
	if i < 0 {
		return nil
	}
	p := &s.s.Pending[i]
	call := p.Permission.toolCall(s.s.Offer.Shown)
	if ev.Allow && !s.s.Cancelled {
		p.Permission = nil
		return []Effect{call}
	}
	s.s.Transcript[p.Entry].Notice = s.refuse(call, ev.Reason)
	return s.settle(i)
}
