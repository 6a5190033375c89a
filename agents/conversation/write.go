package conversation

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/internal/system/plain"
)

// The types of content blocks.
const (
	textType       = "text"
	imageType      = "image"
	toolUseType    = "tool_use"
	toolResultType = "tool_result"
	reasoningType  = "reasoning"
	opaqueType     = "opaque"
)

type messageJSON struct {
	Role         backends.Role `json:"role"`
	Content      any           `json:"content"` // a text or a list of blocks
	HasToolCalls *bool         `json:"has_tool_calls,omitempty"`
	ToolCalls    []ToolCall    `json:"tool_calls,omitempty"`
}

// block has the fields of one type of block. The other fields are nil.
type block struct {
	Type   string       `json:"type"`
	Text   *string      `json:"text,omitempty"` // of text and reasoning
	Source *imageSource `json:"source,omitempty"`
	*toolUse
	*ToolResult
	*backends.Opaque
}

type imageSource struct {
	Type      string `json:"type"` // base64 or url
	MediaType string `json:"media_type,omitempty"`
	Data      []byte `json:"data,omitempty"`
	URL       string `json:"url,omitempty"`
}

type toolUse struct {
	ID    string          `json:"id"`
	Name  string          `json:"name"`
	Input json.RawMessage `json:"input"`
}

// MarshalJSON writes the form of docs/conversation.md. Arguments that are not a JSON object
// are written as a text.
func (m Messages) MarshalJSON() ([]byte, error) {
	if m == nil {
		return []byte("null"), nil
	}
	list := make([]messageJSON, len(m))
	for i, message := range m {
		out, err := writeMessage(message)
		if err != nil {
			return nil, fmt.Errorf("message %d: %w", i+1, err)
		}
		list[i] = out
	}
	return plain.JSON(list)
}

func writeMessage(m backends.Message) (messageJSON, error) {
	out := messageJSON{Role: m.Role}
	if m.Role == backends.RoleTool { // seed 001 has results in user messages
		out.Role = backends.RoleUser
	}
	m.Parts = slices.DeleteFunc(slices.Clone(m.Parts), isForPeople)
	blocks := make([]block, len(m.Parts))
	for i, p := range m.Parts {
		block, err := writeBlock(p)
		if err != nil {
			return out, fmt.Errorf("content[%d]: %w", i, err)
		}
		blocks[i] = block
		if call := block.toolUse; call != nil {
			out.ToolCalls = append(out.ToolCalls, ToolCall{ID: call.ID, Name: call.Name, Arguments: call.Input})
		}
	}
	out.Content = blocks
	if text, ok := plainText(m); ok {
		out.Content = text
	}
	if m.Role == backends.RoleAssistant {
		has := len(out.ToolCalls) > 0
		out.HasToolCalls = &has
	}
	return out, nil
}

// plainText returns the text of a message that needs no blocks.
func plainText(m backends.Message) (string, bool) {
	if len(m.Parts) == 0 {
		return "", true
	}
	text, ok := m.Parts[0].(backends.Text)
	return text.Text, ok && len(m.Parts) == 1 && text.Text != ""
}

// isForPeople reports whether a part is only for people. Conversations do not have such parts.
func isForPeople(p backends.Part) bool {
	switch p.(type) {
	case backends.HostedCall, backends.Citation:
		return true
	}
	return false
}

func writeBlock(p backends.Part) (block, error) {
	switch p := p.(type) {
	case backends.Text:
		return block{Type: textType, Text: &p.Text}, nil
	case backends.Reasoning:
		return block{Type: reasoningType, Text: &p.Text}, nil
	case backends.Image:
		source := imageSource{Type: "url", URL: p.URL}
		if p.URL == "" {
			source = imageSource{Type: "base64", MediaType: p.MediaType, Data: p.Data}
		}
		return block{Type: imageType, Source: &source}, nil
	case backends.ToolCall:
		input, err := writeArguments(p.Arguments)
		return block{Type: toolUseType, toolUse: &toolUse{p.ID, p.Name, input}}, err
	case backends.ToolResult:
		return block{Type: toolResultType, ToolResult: &ToolResult{p.CallID, p.Content, p.IsError}}, nil
	case backends.Opaque:
		return block{Type: opaqueType, Opaque: &p}, nil
	}
	return block{}, fmt.Errorf("a part of type %T has no form in JSON", p)
}

// writeArguments returns arguments as an object if they are one, else as a text.
func writeArguments(arguments string) (json.RawMessage, error) {
	if strings.HasPrefix(strings.TrimSpace(arguments), "{") && json.Valid([]byte(arguments)) {
		return json.RawMessage(arguments), nil
	}
	return plain.JSON(arguments)
}
