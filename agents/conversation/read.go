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
	o := readObject(raw)
	o.only("role", "content", "tool_calls", "has_tool_calls")
	role := o.role()
	parts := o.withToolCalls(role, o.content(role))
	if o.err != nil {
		return nil, o.err
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

func (o *object) role() backends.Role {
	role := backends.Role(o.text("role"))
	switch role {
	case backends.RoleSystem, backends.RoleUser, backends.RoleAssistant, backends.RoleTool:
	default:
		o.fail("role %q is unknown: the roles are system, user, assistant and tool", string(role))
	}
	return role
}

// content reads a text, which "" is no part of, or a list of blocks. A message
// that has tool_calls may be without.
func (o *object) content(role backends.Role) (parts []backends.Part) {
	raw := o.fields["content"]
	if isNull(raw) {
		if o.fields["tool_calls"] == nil {
			o.fail("content is missing")
		}
		return nil
	}
	var text string
	if json.Unmarshal(raw, &text) == nil {
		switch {
		case role == backends.RoleTool:
			o.fail("content of a tool message is a list of tool_result blocks, which name their calls")
		case text != "":
			parts = []backends.Part{backends.Text{Text: text}}
		}
		return parts
	}
	blocks, err := readList(raw)
	if err != nil {
		o.fail("content is neither a text nor a list of blocks")
	}
	for i, raw := range blocks {
		part, err := readBlock(raw, role)
		if err != nil {
			o.fail("content[%d]: %w", i, err)
		}
		parts = append(parts, part)
	}
	return parts
}

// withToolCalls adds the calls that tool_calls names. Where they stand among the
// blocks already, both must say the same, and so must has_tool_calls.
func (o *object) withToolCalls(role backends.Role, parts []backends.Part) []backends.Part {
	for _, field := range []string{"tool_calls", "has_tool_calls"} {
		if o.fields[field] != nil && role != backends.RoleAssistant {
			o.fail("%s belongs to a message of role assistant, not %s", field, role)
		}
	}
	blocks := backends.Message{Parts: parts}.ToolCalls()
	calls := blocks
	if !isNull(o.fields["tool_calls"]) {
		calls = o.toolCalls()
		if len(blocks) > 0 && !slices.Equal(blocks, calls) {
			o.fail("tool_calls says otherwise than the tool_use blocks of content: change both, or leave tool_calls out")
		}
	}
	if has := o.flag("has_tool_calls"); o.fields["has_tool_calls"] != nil && has != (len(calls) > 0) {
		o.fail("has_tool_calls is %t, and there are %d tool calls", has, len(calls))
	}
	if len(blocks) == 0 {
		for _, c := range calls {
			parts = append(parts, c)
		}
	}
	return parts
}

func (o *object) toolCalls() (calls []backends.ToolCall) {
	list, err := readList(o.fields["tool_calls"])
	if err != nil {
		o.fail("tool_calls %w", err)
	}
	for i, raw := range list {
		call := readObject(raw)
		call.only("id", "name", "arguments")
		calls = append(calls, call.toolCall("arguments"))
		if call.err != nil {
			o.fail("tool_calls[%d]: %w", i, call.err)
		}
	}
	return calls
}

// object is a JSON object by the exact names of its fields, which encoding/json
// would take in any case. Its methods read fields, and err is the first thing that was
// wrong with one: what is read of an object with an error means nothing.
type object struct {
	fields map[string]json.RawMessage
	err    error
}

func readObject(raw json.RawMessage) *object {
	o := &object{}
	if err := json.Unmarshal(raw, &o.fields); err != nil || o.fields == nil {
		o.fail("it is not an object")
	}
	return o
}

func (o *object) fail(format string, args ...any) {
	if o.err == nil {
		o.err = fmt.Errorf(format, args...)
	}
}

// only refuses fields that are not known.
func (o *object) only(known ...string) {
	unknown := []string{}
	for field := range o.fields {
		if !slices.Contains(known, field) {
			unknown = append(unknown, field)
		}
	}
	if len(unknown) > 0 {
		o.fail("field %q is unknown: the fields are %s", slices.Min(unknown), commas(known))
	}
}

func (o *object) text(field string) string {
	var text *string
	switch raw := o.fields[field]; {
	case raw == nil:
		o.fail("%s is missing", field)
	case json.Unmarshal(raw, &text) != nil || text == nil:
		o.fail("%s is not a text", field)
	default:
		return *text
	}
	return ""
}

// flag reads a field that may be missing, which is false.
func (o *object) flag(field string) bool {
	var flag *bool
	raw := o.fields[field]
	if raw == nil {
		return false
	}
	if err := json.Unmarshal(raw, &flag); err != nil || flag == nil {
		o.fail("%s is neither true nor false", field)
		return false
	}
	return *flag
}

// toolCall reads a call whose arguments are in field: an object, or a text for
// what the model wrote that is none.
func (o *object) toolCall(field string) backends.ToolCall {
	call := backends.ToolCall{ID: o.text("id"), Name: o.text("name")}
	raw := o.fields[field]
	if len(raw) == 0 || raw[0] != '{' {
		if json.Unmarshal(raw, &call.Arguments) != nil || isNull(raw) {
			o.fail("%s is not an object", field)
		}
		return call
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, raw); err != nil {
		o.fail("%s: %w", field, err)
	}
	call.Arguments = compact.String()
	return call
}

func readList(raw json.RawMessage) ([]json.RawMessage, error) {
	var list []json.RawMessage
	if err := json.Unmarshal(raw, &list); err != nil || list == nil {
		return nil, errors.New("is not a list")
	}
	return list, nil
}

func isNull(raw json.RawMessage) bool { return raw == nil || string(raw) == "null" }
