package conversation

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	"github.com/massgen/massgen/backends"
)

// listedCall reads an item of tool_calls: id, name and arguments, or the form of seed 004 and of chat
// completions, where a function has the last two. Arguments are an object, or a text with its JSON. Ollama's
// calls have no id, and get one.
func (o *object) listedCall(book *callBook) backends.ToolCall {
	if o.fields["function"] == nil {
		o.only("id", "name", "arguments")
		return o.toolCall("arguments")
	}
	o.only("id", "type", "index", "function")
	function := readObject(o.fields["function"])
	function.only("name", "arguments", "index", "description")
	if function.err == nil {
		function.fields["id"] = o.fields["id"]
		if isNull(o.fields["id"]) {
			function.fields["id"] = book.newID()
		}
		if isNull(function.fields["arguments"]) {
			function.fields["arguments"] = json.RawMessage("{}")
		}
	}
	call := function.toolCall("arguments")
	if function.err != nil {
		o.fail("function: %w", function.err)
	}
	return call
}

// isTextResult reports whether a message of role tool has a text, as in seed 004 and in chat completions.
func (o *object) isTextResult() bool {
	var role string
	var text *string
	return json.Unmarshal(o.fields["role"], &role) == nil && role == string(backends.RoleTool) &&
		json.Unmarshal(o.fields["content"], &text) == nil && text != nil
}

// textResult reads such a message: the result of the call that tool_call_id names, else of the oldest open call of
// the tool that the message names, else of the oldest open call. A result without any call has no id, so that
// Repaired leaves it out.
func (o *object) textResult(calls *callBook) backends.ToolResult {
	o.only("role", "content", "tool_call_id", "tool_name", "name", "is_error")
	named := func(field string) string {
		if isNull(o.fields[field]) {
			return ""
		}
		return o.text(field)
	}
	id := named("tool_call_id")
	if id == "" {
		id = calls.oldest(cmp.Or(named("tool_name"), named("name")))
	}
	return backends.ToolResult{CallID: id, Content: o.text("content"), IsError: o.flag("is_error")}
}

// callBook has the tool calls of the messages so far.
type callBook struct {
	names map[string]string   // of the tools, by the ids of the calls
	open  []backends.ToolCall // of the last message with calls, without a result
	made  int                 // ids of calls that had none
}

func newCallBook() *callBook { return &callBook{names: map[string]string{}} }

// newID returns an id, as JSON, that no call before has.
func (b *callBook) newID() json.RawMessage {
	for {
		b.made++
		id := fmt.Sprintf("noid%05d", b.made)
		if _, taken := b.names[id]; !taken {
			return json.RawMessage(strconv.Quote(id))
		}
	}
}

// add notes a call.
func (b *callBook) add(c backends.ToolCall) {
	b.names[c.ID] = c.Name
	b.open = append(b.open, c)
}

// oldest returns the id of the oldest open call, of the named tool if there is one; "" without an open call.
func (b *callBook) oldest(tool string) string {
	if len(b.open) == 0 {
		return ""
	}
	i := slices.IndexFunc(b.open, func(c backends.ToolCall) bool { return c.Name == tool })
	return b.open[max(i, 0)].ID
}

// answer notes the result of a call, and returns the name of the call's tool.
func (b *callBook) answer(id string) (tool string) {
	if i := slices.IndexFunc(b.open, func(c backends.ToolCall) bool { return c.ID == id }); i >= 0 {
		b.open = slices.Delete(b.open, i, i+1)
	}
	return b.names[id]
}
