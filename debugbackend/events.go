package debugbackend

import (
	"encoding/json"
	"fmt"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/internal/system/plain"
)

// eventJSON gives an event a form in JSON: its fields and its type.
type eventJSON struct{ backends.Event }

// eventFields has the fields of all events. Each event uses some of them.
type eventFields struct {
	Type     string               `json:"type"`
	Text     string               `json:"text,omitempty"`
	Reason   string               `json:"reason,omitempty"`
	ToolCall *backends.ToolCall   `json:"tool_call,omitempty"`
	Opaque   *backends.Opaque     `json:"opaque,omitempty"`
	Hosted   *backends.HostedCall `json:"hosted_call,omitempty"`
	Citation *backends.Citation   `json:"citation,omitempty"`
	Usage    *backends.Usage      `json:"usage,omitempty"`
}

func (e eventJSON) MarshalJSON() ([]byte, error) {
	switch ev := e.Event.(type) {
	case backends.TextDelta:
		return plain.JSON(eventFields{Type: "text", Text: ev.Text})
	case backends.ReasoningDelta:
		return plain.JSON(eventFields{Type: "reasoning", Text: ev.Text})
	case backends.ToolCall:
		return plain.JSON(eventFields{Type: "tool_call", ToolCall: &ev})
	case backends.HostedCall:
		return plain.JSON(eventFields{Type: "hosted_call", Hosted: &ev})
	case backends.Citation:
		return plain.JSON(eventFields{Type: "citation", Citation: &ev})
	case backends.Opaque:
		return plain.JSON(eventFields{Type: "opaque", Opaque: &ev})
	case backends.Usage:
		return plain.JSON(eventFields{Type: "usage", Usage: &ev})
	case backends.Finish:
		return plain.JSON(eventFields{Type: "finish", Reason: ev.Reason})
	}
	return nil, fmt.Errorf("event of unknown type %T", e.Event)
}

func (e *eventJSON) UnmarshalJSON(data []byte) error {
	var in eventFields
	if err := json.Unmarshal(data, &in); err != nil {
		return err
	}
	switch {
	case in.Type == "text":
		e.Event = backends.TextDelta{Text: in.Text}
	case in.Type == "reasoning":
		e.Event = backends.ReasoningDelta{Text: in.Text}
	case in.Type == "tool_call" && in.ToolCall != nil:
		e.Event = *in.ToolCall
	case in.Type == "hosted_call" && in.Hosted != nil:
		e.Event = *in.Hosted
	case in.Type == "citation" && in.Citation != nil:
		e.Event = *in.Citation
	case in.Type == "opaque" && in.Opaque != nil:
		e.Event = *in.Opaque
	case in.Type == "usage" && in.Usage != nil:
		e.Event = *in.Usage
	case in.Type == "finish":
		e.Event = backends.Finish{Reason: in.Reason}
	default:
		return fmt.Errorf("event of unknown type %q", in.Type)
	}
	return nil
}
