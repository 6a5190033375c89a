package turn

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/massgen/massgen/internal/coordination/budget"
	"github.com/massgen/massgen/internal/coordination/effect"
	"github.com/massgen/massgen/internal/coordination/kernel"
	"github.com/massgen/massgen/internal/coordination/step"
	"github.com/massgen/massgen/internal/system/blob"
	"github.com/massgen/massgen/internal/system/plain"
)

// Event is one entry of the journal. Encode lists all of them.
type Event = kernel.Event

// Accepted is a turn's first event, with the whole description by which the turn is played.
type Accepted struct {
	At    kernel.Time   `json:"at"`
	Rules kernel.Config `json:"rules"`
	Turn  effect.Turn   `json:"turn"`
	// Budget is the most that the turn may spend.
	Budget budget.Allowance `json:"budget,omitzero"`
}

// ModelDone is the result of a ModelCall.
type ModelDone struct {
	At    kernel.Time       `json:"at"`
	Key   effect.Key        `json:"key"`
	Reply effect.ModelReply `json:"reply"`
}

// ToolDone is the result of a ToolCall.
type ToolDone struct {
	At    kernel.Time      `json:"at"`
	Key   effect.Key       `json:"key"`
	Reply effect.ToolReply `json:"reply"`
}

func (e Accepted) When() kernel.Time  { return e.At }
func (e ModelDone) When() kernel.Time { return e.At }
func (e ToolDone) When() kernel.Time  { return e.At }

// KeyOf returns the key of the effect with that result, or of the tool call that the event
// decides about; ok is false for any other event.
func KeyOf(ev Event) (key effect.Key, ok bool) {
	switch ev := ev.(type) {
	case Decided:
		return ev.Key, true
	case ModelDone:
		return ev.Key, true
	case ToolDone:
		return ev.Key, true
	}
	return effect.Key{}, false
}

// kind returns the name of an event's type in the journal, empty for an event of the kernel alone.
func kind(ev Event) string {
	switch ev.(type) {
	case Accepted:
		return "accepted"
	case ModelDone:
		return "model_done"
	case ToolDone:
		return "tool_done"
	case ToolsChanged:
		return "tools_changed"
	case kernel.Woke:
		return "woke"
	case kernel.Interrupted:
		return "interrupted"
	case Decided:
		return "decided"
	case Committed:
		return "committed"
	case Reserving:
		return "reserving"
	case Settled:
		return "settled"
	case Resumed:
		return "resumed"
	case Lost:
		return "lost"
	case Noted:
		return "noted"
	case Paused:
		return "paused"
	case Unpaused:
		return "unpaused"
	case kernel.Dismissed:
		return "dismissed"
	}
	return ""
}

// Encode returns an event as the journal stores it: {"type", "event"}.
func Encode(ev Event) ([]byte, error) {
	data, err := json.Marshal(struct {
		Type  string `json:"type"`
		Event Event  `json:"event"`
	}{kind(ev), ev})
	if err != nil {
		return nil, fmt.Errorf("encode an event of type %s: %w", kind(ev), err)
	}
	return data, nil
}

// Decode reads an event that Encode wrote.
func Decode(data []byte) (Event, error) {
	head, err := readHead(data)
	if err != nil {
		return nil, fmt.Errorf("decode an event: %w", err)
	}
	switch head.Type {
	case "accepted":
		return decode[Accepted](head)
	case "model_done":
		return decode[ModelDone](head)
	case "tool_done":
		return decode[ToolDone](head)
	case "tools_changed":
		return decode[ToolsChanged](head)
	case "woke":
		return decode[kernel.Woke](head)
	case "interrupted":
		return decode[kernel.Interrupted](head)
	case "decided":
		return decode[Decided](head)
	case "committed":
		return decode[Committed](head)
	case "reserving":
		return decode[Reserving](head)
	case "settled":
		return decode[Settled](head)
	case "resumed":
		return decode[Resumed](head)
	case "lost":
		return decode[Lost](head)
	case "noted":
		return decode[Noted](head)
	case "paused":
		return decode[Paused](head)
	case "unpaused":
		return decode[Unpaused](head)
	case "dismissed":
		return decode[kernel.Dismissed](head)
	}
	return nil, fmt.Errorf("decode an event: type %q is unknown to this program", head.Type)
}

// head is an event with its type read and the rest still encoded.
type head struct {
	Type  string          `json:"type"`
	Event json.RawMessage `json:"event"`
}

// readHead cuts the text that Encode wrote, because a replay reads a long journal, and parses
// any other spelling.
func readHead(data []byte) (h head, err error) {
	rest, isObject := bytes.CutPrefix(data, []byte(`{"type":"`))
	kind, event, hasEvent := bytes.Cut(rest, []byte(`","event":`))
	event, isClosed := bytes.CutSuffix(event, []byte("}"))
	if isObject && hasEvent && isClosed {
		return head{string(kind), event}, nil
	}
	err = json.Unmarshal(data, &h)
	return h, err
}

func decode[E Event](h head) (Event, error) {
	var ev E
	if err := plain.Unmarshal(h.Event, &ev); err != nil {
		return nil, fmt.Errorf("decode an event of type %s: %w", h.Type, err)
	}
	return ev, nil
}

// Command is a command of the machine. Run, RequestPermission, Clock, Granted, Refused and the
// kernel's Cancel, Wake and Finish touch the world; the others only inform. Cancel also cancels the
// sidecalls, for effect.NoAgent. The results of cancelled effects may come after Finish.
type Command any

// Run runs one effect. Its result is one ModelDone or ToolDone.
type Run struct{ Effect effect.Effect }

// StepStarted reports that an agent begins a step.
type StepStarted struct {
	Agent, Round int
	Purpose      effect.Purpose
}

// WentToJSON reports that an agent's model uses no tools and writes JSON objects from now on.
type WentToJSON struct{ Agent, Round int }

// ToolRun is a call of an agent's own tool. Ended and State are zero while it has no
// result.
type ToolRun struct {
	Call    effect.ToolCall `json:"call"`
	Started kernel.Time     `json:"started"`
	Ended   kernel.Time     `json:"ended,omitempty"`
	Result  blob.Ref        `json:"result,omitzero"`
	Error   bool            `json:"error,omitempty"`
	// State is the outcome of the call, and Why the reason if it was refused.
	State effect.ToolState `json:"state,omitempty"`
	Why   string           `json:"why,omitempty"`
}

// ToolEnded has the outcome of a tool call, also of one that was refused and never ran.
type ToolEnded struct{ Call ToolRun }

// StepEnded has the outcome of an agent's step.
type StepEnded struct {
	Agent, Round int
	Purpose      effect.Purpose
	Outcome      step.Outcome
	// Label names the answer, or the answer voted for. Void is the reason why a vote does not
	// count, or why an answer was not used.
	Label, Void string
	Elapsed     kernel.Time
	Usage       budget.Usage
	// ToolCalls counts the calls of the agent's own tools, refused ones too.
	ToolCalls int
	// Transcript has the messages of the step, with its last one.
	Transcript []effect.Entry
	// Partial is the received part of the message whose call failed and ended the step.
	Partial blob.Ref
}

// UsageOf returns the cost of one model call. A call that was not sent costs nothing.
func UsageOf(r effect.ModelReply) budget.Usage {
	if r.Failure != nil && r.Failure.Unsent {
		return budget.Usage{}
	}
	if r.Usage == nil {
		return budget.Usage{Calls: 1, UnknownCalls: 1}
	}
	return budget.Usage{
		Calls: 1, InputTokens: r.Usage.InputTokens, OutputTokens: r.Usage.OutputTokens,
		CachedInputTokens: r.Usage.CachedInputTokens, ReasoningTokens: r.Usage.ReasoningTokens, CostUSD: r.Usage.CostUSD,
	}
}
