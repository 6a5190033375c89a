package backends

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/massgen/massgen/internal/system/blob"
	"github.com/massgen/massgen/internal/system/plain"
)

// Role says who speaks in a message.
type Role string

// The roles of a conversation. A RoleTool message holds tool results and
// nothing else.
const (
	RoleSystem    Role = "system"
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
	RoleTool      Role = "tool"
)

// Message is one entry of a conversation: a role and its parts, in order.
// A Message is a value: several goroutines may read it, and nobody changes its parts.
type Message struct {
	Role  Role
	Parts []Part
}

// Part is one piece of a message. The set is closed: Text, Reasoning, Image, File,
// ToolCall, ToolResult, HostedCall, Citation and Opaque.
type Part interface{ part() string }

// Text is what a person or a model wrote.
type Text struct {
	Text string `json:"text"`
}

// Reasoning is readable thinking that a model showed beside its text.
type Reasoning struct {
	Text string `json:"text"`
}

// Image is a picture: either its bytes with their media type ("image/png"), or
// a URL.
type Image struct {
	MediaType string `json:"media_type,omitempty"`
	Data      []byte `json:"data,omitempty"`
	URL       string `json:"url,omitempty"`
}

// File is a picture or a PDF that a message is sent with. Messages are stored and dumped
// without its Data, which an adapter needs to send it.
type File struct {
	blob.File
	Data []byte `json:"-"`
}

// ToolCall is a model's request to run a tool. Arguments is the text that the
// model wrote. It may be invalid JSON: its decoder has to cope with that.
type ToolCall struct {
	ID        string `json:"id"`
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

// ToolResult answers the ToolCall with the same id.
type ToolResult struct {
	CallID  string `json:"call_id"`
	Name    string `json:"name"`
	Content string `json:"content"`
	IsError bool   `json:"is_error,omitempty"`
	// Files are the pictures that the tool returned beside the text.
	Files []File `json:"files,omitempty"`
}

// Opaque is something that only its maker can read: a signed thinking block, a
// thought signature, encrypted reasoning. It is kept in order with the message
// and sent back only to the provider and model that made it.
type Opaque struct {
	Provider string          `json:"provider"`
	Model    string          `json:"model"`
	Data     json.RawMessage `json:"data"`
}

func (Text) part() string       { return "text" }
func (Reasoning) part() string  { return "reasoning" }
func (Image) part() string      { return "image" }
func (File) part() string       { return "file" }
func (ToolCall) part() string   { return "tool_call" }
func (ToolResult) part() string { return "tool_result" }
func (Opaque) part() string     { return "opaque" }

// System, User and Assistant make a message of one text part.
func System(text string) Message { return Message{RoleSystem, []Part{Text{text}}} }

// User makes a user message of one text part.
func User(text string) Message { return Message{RoleUser, []Part{Text{text}}} }

// Assistant makes an assistant message of one text part.
func Assistant(text string) Message { return Message{RoleAssistant, []Part{Text{text}}} }

// Text returns the message's text parts, joined without a separator.
func (m Message) Text() string {
	if len(m.Parts) == 1 {
		text, _ := m.Parts[0].(Text)
		return text.Text
	}
	var b strings.Builder
	for _, p := range m.Parts {
		if t, ok := p.(Text); ok {
			b.WriteString(t.Text)
		}
	}
	return b.String()
}

// ToolCalls returns the message's tool calls in order.
func (m Message) ToolCalls() []ToolCall {
	var calls []ToolCall
	for _, p := range m.Parts {
		if c, ok := p.(ToolCall); ok {
			calls = append(calls, c)
		}
	}
	return calls
}

// MarshalJSON writes {"role", "parts": [{"type", …}]}, the form in which
// messages are stored and dumped. It does not escape HTML.
func (m Message) MarshalJSON() ([]byte, error) {
	out := struct {
		Role  Role  `json:"role"`
		Parts []any `json:"parts"`
	}{m.Role, make([]any, len(m.Parts))}
	for i, p := range m.Parts {
		out.Parts[i] = typed(p)
	}
	data, err := plain.JSON(out)
	if err != nil {
		return nil, fmt.Errorf("a %s message: %w", m.Role, err)
	}
	return data, nil
}

// partType stands before the fields of a part in its JSON.
type partType struct {
	Type string `json:"type"`
}

// typed returns a part with its type. encoding/json writes the fields of both in this order.
func typed(part Part) any {
	t := partType{part.part()}
	switch p := part.(type) {
	case Text:
		return struct {
			partType
			Text
		}{t, p}
	case Reasoning:
		return struct {
			partType
			Reasoning
		}{t, p}
	case Image:
		return struct {
			partType
			Image
		}{t, p}
	case File:
		return struct {
			partType
			File
		}{t, p}
	case ToolCall:
		return struct {
			partType
			ToolCall
		}{t, p}
	case ToolResult:
		return struct {
			partType
			ToolResult
		}{t, p}
	case HostedCall:
		return struct {
			partType
			HostedCall
		}{t, p}
	case Citation:
		return struct {
			partType
			Citation
		}{t, p}
	case Opaque:
		return struct {
			partType
			Opaque
		}{t, p}
	}
	return nil
}

// storedMessage is the JSON of a Message.
type storedMessage struct {
	Role  Role              `json:"role"`
	Parts []json.RawMessage `json:"parts"`
}

// UnmarshalJSON reads what MarshalJSON wrote. A part of an unknown type is an
// error that names it.
func (m *Message) UnmarshalJSON(data []byte) error {
	var in storedMessage
	if err := plain.Unmarshal(data, &in); err != nil {
		return err
	}
	*m = Message{Role: in.Role}
	for i, raw := range in.Parts {
		p, err := unmarshalPart(raw)
		if err != nil {
			return fmt.Errorf("part %d of a %s message: %w", i, in.Role, err)
		}
		m.Parts = append(m.Parts, p)
	}
	return nil
}

func unmarshalPart(raw json.RawMessage) (Part, error) {
	var head struct {
		Type string `json:"type"`
	}
	if err := plain.Unmarshal(raw, &head); err != nil {
		return nil, err
	}
	switch head.Type {
	case "text":
		return decode[Text](raw)
	case "reasoning":
		return decode[Reasoning](raw)
	case "image":
		return decode[Image](raw)
	case "file":
		return decode[File](raw)
	case "tool_call":
		return decode[ToolCall](raw)
	case "tool_result":
		return decode[ToolResult](raw)
	case HostedCall{}.part():
		return decode[HostedCall](raw)
	case Citation{}.part():
		return decode[Citation](raw)
	case "opaque":
		return decode[Opaque](raw)
	}
	return nil, fmt.Errorf("unknown type %q", head.Type)
}

func decode[P Part](raw json.RawMessage) (Part, error) {
	var p P
	err := plain.Unmarshal(raw, &p)
	return p, err
}
