package conversation

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/massgen/massgen/backends"
)

// Parse reads a conversation from JSON and repairs it. The warnings are those of
// Repaired, to which a message with tool results and more is two; the error is one
// line that names the message, from 1, and the field.
func Parse(data []byte) (m Messages, warnings []string, err error) {
	if err := json.Unmarshal(data, &m); err != nil {
		var syntax *json.SyntaxError
		if errors.As(err, &syntax) {
			err = fmt.Errorf("byte %d: %w", syntax.Offset, err)
		}
		return nil, nil, fmt.Errorf("read a conversation: %w", err)
	}
	m, warnings = m.Repaired()
	return m, warnings, nil
}

// UnmarshalJSON reads the form of docs/conversation.md. It takes no field that is
// not described there, and leaves calls without results and results without calls
// as they are, for Repaired.
func (m *Messages) UnmarshalJSON(data []byte) error {
	if string(data) == "null" {
		*m = nil
		return nil
	}
	list, err := readList(data)
	if err != nil {
		return fmt.Errorf("the conversation %w", err)
	}
	read := Messages{}
	names := map[string]string{}
	for i, raw := range list {
		messages, err := readMessage(raw, names)
		if err != nil {
			return fmt.Errorf("message %d: %w", i+1, err)
		}
		read = append(read, messages...)
	}
	*m = read
	return nil
}

// readMessage returns the message that raw is, or two: tool results stand in a
// message of their own, before what a user said with them. names has the tools of
// the calls until now, by the ids that results refer to.
func readMessage(raw json.RawMessage, names map[string]string) ([]backends.Message, error) {
	o, err := readObject(raw, "role", "content", "tool_calls", "has_tool_calls")
	if err != nil {
		return nil, err
	}
	role, err := readRole(o)
	if err != nil {
		return nil, err
	}
	parts, err := readContent(o, role)
	if err != nil {
		return nil, err
	}
	if parts, err = withToolCalls(o, role, parts); err != nil {
		return nil, err
	}
	var results, rest []backends.Part
	for _, p := range parts {
		switch p := p.(type) {
		case backends.ToolCall:
			names[p.ID] = p.Name
			rest = append(rest, p)
		case backends.ToolResult:
			p.Name = names[p.CallID]
			results = append(results, p)
		default:
			rest = append(rest, p)
		}
	}
	var messages []backends.Message
	if len(results) > 0 {
		messages = append(messages, backends.Message{Role: backends.RoleTool, Parts: results})
	}
	if len(rest) > 0 || len(results) == 0 {
		messages = append(messages, backends.Message{Role: role, Parts: rest})
	}
	return messages, nil
}

func readRole(o object) (backends.Role, error) {
	text, err := o.text("role")
	if err != nil {
		return "", err
	}
	role := backends.Role(text)
	switch role {
	case backends.RoleSystem, backends.RoleUser, backends.RoleAssistant, backends.RoleTool:
		return role, nil
	}
	return "", fmt.Errorf("role %q is unknown: the roles are system, user, assistant and tool", text)
}

// readContent reads a text, which "" is no part of, or a list of blocks. A message
// that has tool_calls may be without.
func readContent(o object, role backends.Role) ([]backends.Part, error) {
	raw := o["content"]
	if isNull(raw) && o["tool_calls"] != nil {
		return nil, nil
	}
	if isNull(raw) {
		return nil, errors.New("content is missing")
	}
	var text string
	if json.Unmarshal(raw, &text) == nil {
		if role == backends.RoleTool {
			return nil, errors.New("content of a tool message is a list of tool_result blocks, which name their calls")
		}
		if text == "" {
			return nil, nil
		}
		return []backends.Part{backends.Text{Text: text}}, nil
	}
	blocks, err := readList(raw)
	if err != nil {
		return nil, errors.New("content is neither a text nor a list of blocks")
	}
	var parts []backends.Part
	for i, raw := range blocks {
		part, err := readBlock(raw, role)
		if err != nil {
			return nil, fmt.Errorf("content[%d]: %w", i, err)
		}
		parts = append(parts, part)
	}
	return parts, nil
}

// withToolCalls adds the calls that tool_calls names. Where they stand among the
// blocks already, both must say the same, and so must has_tool_calls.
func withToolCalls(o object, role backends.Role, parts []backends.Part) ([]backends.Part, error) {
	for _, field := range []string{"tool_calls", "has_tool_calls"} {
		if o[field] != nil && role != backends.RoleAssistant {
			return nil, fmt.Errorf("%s belongs to a message of role assistant, not %s", field, role)
		}
	}
	blocks := backends.Message{Parts: parts}.ToolCalls()
	calls := blocks
	if !isNull(o["tool_calls"]) {
		var err error
		if calls, err = readToolCalls(o["tool_calls"]); err != nil {
			return nil, err
		}
		if len(blocks) > 0 && !slices.Equal(blocks, calls) {
			return nil, errors.New("tool_calls says otherwise than the tool_use blocks of content: change both, or leave tool_calls out")
		}
	}
	if o["has_tool_calls"] != nil {
		has, err := o.flag("has_tool_calls")
		if err != nil {
			return nil, err
		}
		if has != (len(calls) > 0) {
			return nil, fmt.Errorf("has_tool_calls is %t, and there are %d tool calls", has, len(calls))
		}
	}
	if len(blocks) == 0 {
		for _, c := range calls {
			parts = append(parts, c)
		}
	}
	return parts, nil
}

func readToolCalls(raw json.RawMessage) ([]backends.ToolCall, error) {
	list, err := readList(raw)
	if err != nil {
		return nil, fmt.Errorf("tool_calls %w", err)
	}
	var calls []backends.ToolCall
	for i, raw := range list {
		o, err := readObject(raw, "id", "name", "arguments")
		if err == nil {
			var call backends.ToolCall
			call, err = o.toolCall("arguments")
			calls = append(calls, call)
		}
		if err != nil {
			return nil, fmt.Errorf("tool_calls[%d]: %w", i, err)
		}
	}
	return calls, nil
}

// object is a JSON object by the exact names of its fields, which encoding/json
// would take in any case.
type object map[string]json.RawMessage

// readObject reads an object that has no other fields than those that are known.
func readObject(raw json.RawMessage, known ...string) (object, error) {
	var o object
	if err := json.Unmarshal(raw, &o); err != nil || o == nil {
		return nil, errors.New("it is not an object")
	}
	return o, o.only(known...)
}

func (o object) only(known ...string) error {
	unknown := []string{}
	for field := range o {
		if !slices.Contains(known, field) {
			unknown = append(unknown, field)
		}
	}
	if len(unknown) == 0 {
		return nil
	}
	return fmt.Errorf("field %q is unknown: the fields are %s", slices.Min(unknown), commas(known))
}

func (o object) text(field string) (string, error) {
	var text *string
	if o[field] == nil {
		return "", fmt.Errorf("%s is missing", field)
	}
	if err := json.Unmarshal(o[field], &text); err != nil || text == nil {
		return "", fmt.Errorf("%s is not a text", field)
	}
	return *text, nil
}

func (o object) flag(field string) (bool, error) {
	var flag *bool
	if err := json.Unmarshal(o[field], &flag); err != nil || flag == nil {
		return false, fmt.Errorf("%s is neither true nor false", field)
	}
	return *flag, nil
}

// toolCall reads a call whose arguments are in field: an object, or a text for
// what the model wrote that is none.
func (o object) toolCall(field string) (backends.ToolCall, error) {
	var call backends.ToolCall
	var err error
	if call.ID, err = o.text("id"); err != nil {
		return call, err
	}
	if call.Name, err = o.text("name"); err != nil {
		return call, err
	}
	if raw := o[field]; len(raw) > 0 && raw[0] == '{' {
		var compact bytes.Buffer
		err = json.Compact(&compact, raw)
		call.Arguments = compact.String()
	} else if call.Arguments, err = o.text(field); err != nil {
		err = fmt.Errorf("%s is not an object", field)
	}
	return call, err
}

func readList(raw json.RawMessage) ([]json.RawMessage, error) {
	var list []json.RawMessage
	if err := json.Unmarshal(raw, &list); err != nil || list == nil {
		return nil, errors.New("is not a list")
	}
	return list, nil
}

func isNull(raw json.RawMessage) bool { return raw == nil || string(raw) == "null" }
