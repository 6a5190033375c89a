package conversation

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/massgen/massgen/backends"
)

// Parse reads a conversation from JSON and repairs it. The warnings are those of
// Repaired, which counts a message with tool results and other parts as two. The error is one
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

// UnmarshalJSON reads the form of docs/conversation.md, and refuses any field that is
// not described there. It leaves calls without results and results without calls
// unchanged, for Repaired.
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
	calls := newCallBook()
	for i, raw := range list {
		messages, err := readMessage(raw, calls)
		if err != nil {
			return fmt.Errorf("message %d: %w", i+1, err)
		}
		read = append(read, messages...)
	}
	*m = read
	return nil
}

// readMessage reads a message. It returns two if a user's message has tool results beside other
// parts: the results come first, in a message of their own.
func readMessage(raw json.RawMessage, calls *callBook) ([]backends.Message, error) {
	o := readObject(raw)
	var role backends.Role
	var parts []backends.Part
	if o.isTextResult() {
		role, parts = backends.RoleTool, []backends.Part{o.textResult(calls)}
	} else {
		o.only("role", "content", "tool_calls", "has_tool_calls")
		role = o.role()
		parts = o.withToolCalls(role, o.content(), calls)
	}
	if o.err != nil {
		return nil, o.err
	}
	if role == backends.RoleAssistant {
		calls.open = nil // later results are of this message's calls
	}
	var results, rest []backends.Part
	for _, p := range parts {
		switch p := p.(type) {
		case backends.ToolCall:
			calls.add(p)
			rest = append(rest, p)
		case backends.ToolResult:
			p.Name = calls.answer(p.CallID)
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

// content reads a text, or a list of blocks. An empty text is no part. A message with
// tool_calls may lack its content.
func (o *object) content() (parts []backends.Part) {
	raw := o.fields["content"]
	if isNull(raw) {
		if o.fields["tool_calls"] == nil {
			o.fail("content is missing")
		}
		return nil
	}
	var text string
	if json.Unmarshal(raw, &text) == nil {
		if text != "" {
			parts = []backends.Part{backends.Text{Text: text}}
		}
		return parts
	}
	blocks, err := readList(raw)
	if err != nil {
		o.fail("content is neither a text nor a list of blocks")
	}
	for i, raw := range blocks {
		part, err := readBlock(raw, o.role())
		if err != nil {
			o.fail("content[%d]: %w", i, err)
		}
		parts = append(parts, part)
	}
	return parts
}

// withToolCalls adds the calls of tool_calls. If the blocks have calls too, both lists must be
// equal, and has_tool_calls must fit them.
func (o *object) withToolCalls(role backends.Role, parts []backends.Part, book *callBook) []backends.Part {
	for _, field := range []string{"tool_calls", "has_tool_calls"} {
		if o.fields[field] != nil && role != backends.RoleAssistant {
			o.fail("%s belongs to a message of role assistant, not %s", field, role)
		}
	}
	blocks := backends.Message{Parts: parts}.ToolCalls()
	calls := blocks
	if !isNull(o.fields["tool_calls"]) {
		calls = o.toolCalls(book)
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

func (o *object) toolCalls(book *callBook) (calls []backends.ToolCall) {
	list, err := readList(o.fields["tool_calls"])
	if err != nil {
		o.fail("tool_calls %w", err)
	}
	for i, raw := range list {
		call := readObject(raw)
		calls = append(calls, call.listedCall(book))
		if call.err != nil {
			o.fail("tool_calls[%d]: %w", i, call.err)
		}
	}
	return calls
}

// object is a JSON object. Its methods read fields by their exact names, while encoding/json
// ignores the case. err is the first fault; after it, the values that methods return mean
// nothing.
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

// only refuses unknown fields.
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

// flag reads true or false. A missing field is false.
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

// toolCall reads a call whose arguments are in field: an object, or the model's text if that is
// not an object.
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

// readBlock reads one block of a message's content.
func readBlock(raw json.RawMessage, role backends.Role) (backends.Part, error) {
	o := readObject(raw)
	kind := o.text("type")
	if o.err != nil {
		return nil, o.err
	}
	if err := checkPlace(kind, role); err != nil {
		return nil, err
	}
	part := o.block(kind)
	return part, o.err
}

func (o *object) block(kind string) backends.Part {
	switch kind {
	case textType:
		o.only("type", "text")
		return backends.Text{Text: o.text("text")}
	case reasoningType:
		o.only("type", "text")
		return backends.Reasoning{Text: o.text("text")}
	case imageType:
		o.only("type", "source")
		return o.image()
	case toolUseType:
		o.only("type", "id", "name", "input")
		return o.toolCall("input")
	case toolResultType:
		o.only("type", "tool_use_id", "content", "is_error")
		return backends.ToolResult{CallID: o.text("tool_use_id"), Content: o.text("content"), IsError: o.flag("is_error")}
	case opaqueType:
		o.only("type", "provider", "model", "data")
		opaque := backends.Opaque{Provider: o.text("provider"), Model: o.text("model"), Data: o.fields["data"]}
		if opaque.Data == nil {
			o.fail("data is missing")
		}
		return opaque
	}
	types := []string{textType, imageType, toolUseType, toolResultType, reasoningType, opaqueType}
	o.fail("type %q is unknown: the types are %s", kind, commas(types))
	return nil
}

// checkPlace returns an error if a block may not stand in a message of the role.
func checkPlace(kind string, role backends.Role) error {
	switch {
	case kind == toolUseType && role != backends.RoleAssistant:
		return fmt.Errorf("a tool_use block stands in a message of role assistant, not %s", role)
	case kind == toolResultType && role != backends.RoleUser && role != backends.RoleTool:
		return fmt.Errorf("a tool_result block stands in a message of role user, not %s", role)
	case kind != toolResultType && role == backends.RoleTool:
		return fmt.Errorf("a message of role tool has only tool_result blocks, and this is of type %q", kind)
	}
	return nil
}

func (o *object) image() (image backends.Image) {
	source := readObject(o.fields["source"])
	switch kind := source.text("type"); kind {
	case "url":
		source.only("type", "url")
		image.URL = source.text("url")
	case "base64":
		source.only("type", "media_type", "data")
		image.MediaType = source.text("media_type")
		data := source.text("data")
		var err error
		if image.Data, err = base64.StdEncoding.DecodeString(data); err != nil || data == "" {
			source.fail("data is not base64")
		}
	default:
		source.fail("type %q is unknown: the types are base64 and url", kind)
	}
	if source.err != nil {
		o.fail("source: %w", source.err)
	}
	return image
}

func commas(words []string) string { return strings.Join(words, ", ") }
