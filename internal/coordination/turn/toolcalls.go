package turn

import (
	"cmp"
	"slices"

	"github.com/massgen/massgen/internal/coordination/effect"
	"github.com/massgen/massgen/internal/coordination/kernel"
	"github.com/massgen/massgen/internal/coordination/step"
	"github.com/massgen/massgen/internal/system/blob"
)

// ToolCalls returns the calls of the agents' own tools and of hosted tools, in the order in which
// they began, were refused, or became known.
func (m *Machine) ToolCalls() []ToolRun { return slices.Clone(m.s.ToolCalls) }

func (m *Machine) run(at kernel.Time, effects []effect.Effect) {
	for _, e := range effects {
		if call, isTool := e.(effect.ToolCall); isTool && !call.IsSnapshot() && !call.IsCheck() {
			m.s.ToolCalls = append(m.s.ToolCalls, ToolRun{Call: call, Started: at})
		}
		m.out = append(m.out, Run{m.withTools(e)})
	}
}

// recordTool books the result of a tool call, and reports it. A snapshot is reported with the
// end of its step.
func (m *Machine) recordTool(ev ToolDone) {
	i := len(m.s.ToolCalls) - 1 // the newest are out
	for i >= 0 && m.s.ToolCalls[i].Call.Key != ev.Key {
		i--
	}
	if i < 0 {
		return
	}
	c := &m.s.ToolCalls[i]
	c.Result, c.Error, c.Ended = ev.Reply.Result, ev.Reply.Error, ev.At
	c.State = cmp.Or(ev.Reply.State, effect.ToolRan)
	m.out = append(m.out, ToolEnded{*c})
}

// recordRefusals books refused calls, and reports them.
func (m *Machine) recordRefusals(at kernel.Time, refusals []step.Refusal) {
	for _, r := range refusals {
		c := ToolRun{Call: r.Call, Started: at, Ended: at, Error: true, State: r.State, Why: r.Why}
		m.s.ToolCalls = append(m.s.ToolCalls, c)
		m.out = append(m.out, ToolEnded{c})
	}
}

// noteHosted books the calls that the provider ran within a model call, and reports them.
func (m *Machine) noteHosted(ev ModelDone) {
	key := ev.Key
	key.Purpose = effect.HostedTool
	for i, h := range ev.Reply.Hosted {
		c := ToolRun{
			Call:    effect.ToolCall{Key: key, Message: ev.Reply.Message, Call: i, Name: h.Name},
			Started: ev.At, Ended: ev.At, Error: h.Error, State: effect.ToolRan,
		}
		m.s.ToolCalls = append(m.s.ToolCalls, c)
		m.out = append(m.out, ToolEnded{c})
	}
}

// Unkept is an answer without a snapshot of its author's workspace. Reason refers to the
// reason. Final reports whether it is the turn's final answer.
type Unkept struct {
	Agent  int      `json:"agent"`
	Final  bool     `json:"final,omitempty"`
	Reason blob.Ref `json:"reason"`
}

// Unkept returns the answers without a snapshot, each agent and reason once.
func (m *Machine) Unkept() []Unkept { return slices.Clone(m.s.Unkept) }

func (m *Machine) recordUnkept(agent int, purpose effect.Purpose, o step.Outcome) {
	unkept := Unkept{Agent: agent, Final: purpose.IsFinalAnswer() || m.s.Turn.IsAlone(), Reason: o.Unkept}
	if o.Unkept != (blob.Ref{}) && !slices.Contains(m.s.Unkept, unkept) {
		m.s.Unkept = append(m.s.Unkept, unkept)
	}
}
