package turn

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/massgen/massgen/internal/coordination/budget"
	"github.com/massgen/massgen/internal/coordination/kernel"
	"github.com/massgen/massgen/internal/coordination/machine"
	"github.com/massgen/massgen/internal/system/blob"
	"github.com/massgen/massgen/internal/system/plain"
)

// Event is one entry of the journal. The set is closed.
type Event interface {
	at() kernel.Time
	kind() string
}

// Accepted is a turn's first event, with the whole description by which the turn is played.
type Accepted struct {
	At    kernel.Time   `json:"at"`
	Rules kernel.Config `json:"rules"`
	Turn  machine.Turn  `json:"turn"`
	// Budget is the most that the turn may spend.
	Budget budget.Allowance `json:"budget,omitzero"`
}

// ModelDone is the result of a ModelCall.
type ModelDone struct {
	At    kernel.Time        `json:"at"`
	Key   machine.Key        `json:"key"`
	Reply machine.ModelReply `json:"reply"`
}

// ToolDone is the result of a ToolCall.
type ToolDone struct {
	At    kernel.Time       `json:"at"`
	Key   machine.Key       `json:"key"`
	Reply machine.ToolReply `json:"reply"`
}

// Woke is a ring of the clock, requested by Wake.
type Woke struct {
	At kernel.Time `json:"at"`
}

// Interrupted is a person's interrupt, which ends the turn.
type Interrupted struct {
	At kernel.Time `json:"at"`
}

func (e Accepted) at() kernel.Time    { return e.At }
func (e ModelDone) at() kernel.Time   { return e.At }
func (e ToolDone) at() kernel.Time    { return e.At }
func (e Woke) at() kernel.Time        { return e.At }
func (e Interrupted) at() kernel.Time { return e.At }

func (Accepted) kind() string    { return "accepted" }
func (ModelDone) kind() string   { return "model_done" }
func (ToolDone) kind() string    { return "tool_done" }
func (Woke) kind() string        { return "woke" }
func (Interrupted) kind() string { return "interrupted" }

// When returns the time of an event.
func When(ev Event) kernel.Time { return ev.at() }

// KeyOf returns the key of the effect with that result, or of the tool call that the event
// decides about; ok is false for any other event.
func KeyOf(ev Event) (key machine.Key, ok bool) {
	switch ev := ev.(type) {
	case Decided:
		return ev.Key, true
	case ModelDone:
		return ev.Key, true
	case ToolDone:
		return ev.Key, true
	}
	return machine.Key{}, false
}

// Encode returns an event as the journal stores it: {"type", "event"}.
func Encode(ev Event) ([]byte, error) {
	data, err := json.Marshal(struct {
		Type  string `json:"type"`
		Event Event  `json:"event"`
	}{ev.kind(), ev})
	if err != nil {
		return nil, fmt.Errorf("encode an event of type %s: %w", ev.kind(), err)
	}
	return data, nil
}

// Decode reads what Encode wrote.
func Decode(data []byte) (Event, error) {
	head, err := readHead(data)
	if err != nil {
		return nil, fmt.Errorf("decode an event: %w", err)
	}
	switch head.Type {
	case Accepted{}.kind():
		return decode[Accepted](head.Event)
	case ModelDone{}.kind():
		return decode[ModelDone](head.Event)
	case ToolDone{}.kind():
		return decode[ToolDone](head.Event)
	case ToolsChanged{}.kind():
		return decode[ToolsChanged](head.Event)
	case Woke{}.kind():
		return decode[Woke](head.Event)
	case Interrupted{}.kind():
		return decode[Interrupted](head.Event)
	case Decided{}.kind():
		return decode[Decided](head.Event)
	case Committed{}.kind():
		return decode[Committed](head.Event)
	case Reserving{}.kind():
		return decode[Reserving](head.Event)
	case Settled{}.kind():
		return decode[Settled](head.Event)
	case Resumed{}.kind():
		return decode[Resumed](head.Event)
	case Lost{}.kind():
		return decode[Lost](head.Event)
	case Noted{}.kind():
		return decode[Noted](head.Event)
	case Paused{}.kind():
		return decode[Paused](head.Event)
	case Unpaused{}.kind():
		return decode[Unpaused](head.Event)
	case Dismissed{}.kind():
		return decode[Dismissed](head.Event)
	}
	return nil, fmt.Errorf("decode an event: type %q is unknown to this program", head.Type)
}

// head is an event of which only the type was read.
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

func decode[E Event](data []byte) (Event, error) {
	var ev E
	if err := plain.Unmarshal(data, &ev); err != nil {
		return nil, fmt.Errorf("decode an event of type %s: %w", ev.kind(), err)
	}
	return ev, nil
}

// Command is a command of the machine. The set is closed: Run, RequestPermission, Cancel, Wake,
// Clock, Granted, Refused and Finish touch the world, the others only inform.
type Command interface{ command() }

// Run runs one effect. Its result is one ModelDone or ToolDone.
type Run struct{ Effect machine.Effect }

// Cancel cancels the effects of an agent, each of which still has its one result; for
// machine.NoAgent it cancels the sidecalls.
type Cancel struct{ Agent int }

// Wake requests a Woke event at a moment; it replaces the Wake before it.
type Wake struct{ At kernel.Time }

// Finish ends the turn. The results of cancelled effects may come after it.
type Finish struct{}

// StepStarted says that an agent begins a step.
type StepStarted struct {
	Agent, Round int
	Purpose      machine.Purpose
}

// WentToJSON says that an agent's model uses no tools and writes JSON objects from now on.
type WentToJSON struct{ Agent, Round int }

// ToolCall is a call of an agent's own tool. Ended and State are zero while it has no
// result.
type ToolCall struct {
	Call    machine.ToolCall `json:"call"`
	Started kernel.Time      `json:"started"`
	Ended   kernel.Time      `json:"ended,omitempty"`
	Result  blob.Ref         `json:"result,omitzero"`
	Error   bool             `json:"error,omitempty"`
	// State is the outcome of the call, and Why the reason if it was refused.
	State machine.ToolState `json:"state,omitempty"`
	Why   string            `json:"why,omitempty"`
}

// ToolEnded has the outcome of a tool call, also of one that was refused and never ran.
type ToolEnded struct{ Call ToolCall }

// StepEnded has the outcome of an agent's step.
type StepEnded struct {
	Agent, Round int
	Purpose      machine.Purpose
	Outcome      machine.Outcome
	// Label names the answer, or the answer voted for. Void is the reason why a vote does not
	// count, or says that an answer was not used.
	Label, Void string
	Elapsed     kernel.Time
	Usage       budget.Usage
	// ToolCalls counts the calls of the agent's own tools, refused ones too.
	ToolCalls int
	// Transcript has the messages of the step, with its last one.
	Transcript []machine.Entry
	// Partial is the received part of the message whose call failed and ended the step.
	Partial blob.Ref
}

func (Run) command()         {}
func (Cancel) command()      {}
func (Wake) command()        {}
func (Finish) command()      {}
func (StepStarted) command() {}
func (StepEnded) command()   {}
func (ToolEnded) command()   {}
func (WentToJSON) command()  {}

// UsageOf returns the cost of one model call: nothing, if it was not sent.
func UsageOf(r machine.ModelReply) budget.Usage {
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
