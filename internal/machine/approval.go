package machine

import (
	"slices"

	"github.com/massgen/massgen/internal/blob"
	"github.com/massgen/massgen/internal/kernel"
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

// Ask is a question for a person: whether a tool call may run. It is no effect, since
// nothing is in flight while it waits.
type Ask struct {
	// Key is that of the ToolCall that follows if it may.
	Key     Key      `json:"key"`
	Message blob.Ref `json:"message"`
	Call    int      `json:"call"`
	Name    string   `json:"name"`
	// Why is the rule by which it is asked.
	Why string `json:"why,omitempty"`
}

func (a Ask) toolCall(shown []kernel.Answer) ToolCall {
	return ToolCall{Key: a.Key, Message: a.Message, Call: a.Call, Name: a.Name, Shown: shown, Asked: true}
}

// Approval is a person's answer to an Ask, by the index in its key.
type Approval struct {
	Index int  `json:"index"`
	Allow bool `json:"allow"`
	// Reason is why not, for the model; it may be empty.
	Reason string `json:"reason,omitempty"`
}

func (Approval) event() {}

// NewAsks returns the questions that have come up since it was called last.
func (s *Step) NewAsks() []Ask {
	asks := s.s.NewAsks
	s.s.NewAsks = nil
	return asks
}

// ask puts a call before a person. Its entry waits as that of a tool that runs does.
func (s *Step) ask(call ToolCall, why string, entry int) {
	ask := Ask{Key: call.Key, Message: call.Message, Call: call.Call, Name: call.Name, Why: why}
	s.s.Pending = append(s.s.Pending, pending{Index: call.Key.Index, Entry: entry, Ask: &ask})
	s.s.NewAsks = append(s.s.NewAsks, ask)
}

// takeApproval lets a call run, or gives it its result. An answer that nothing waits for
// any more changes nothing: its step was cancelled while the person thought.
func (s *Step) takeApproval(ev Approval) []Effect {
	i := slices.IndexFunc(s.s.Pending, func(p pending) bool { return p.Index == ev.Index && p.Ask != nil })
	if i < 0 {
		return nil
	}
	p := &s.s.Pending[i]
	call := p.Ask.toolCall(s.s.Offer.Shown)
	if ev.Allow && !s.s.Cancelled {
		p.Ask = nil
		return []Effect{call}
	}
	s.s.Transcript[p.Entry].Notice = s.refuse(call, ev.Reason)
	return s.settle(i)
}
