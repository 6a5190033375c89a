package mcp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/massgen/massgen/internal/system/heavy"
	"github.com/massgen/massgen/internal/system/plain"
)

// byteOrderMark is U+FEFF in UTF-8. Servers on .NET and PowerShell write it before their first message.
const byteOrderMark = "\uFEFF"

// schemaKey is where repaired leaves the text of a tool's schema: the SDK keeps only its value.
const schemaKey = "massgen/inputSchema"

type object = map[string]json.RawMessage

// mostValues is how many values a message may have, apart from the texts in it and the structured content
// of a result: reading a value of two bytes takes a thousand times as many.
const mostValues = 200_000

// tooMany is about an answer of more than mostValues.
const tooMany = "its answer has more than the 200,000 values that are read: ask it for less"

// repaired returns a message of a server in the form that the SDK reads. It mends what costs one tool,
// or one piece of a result, and would cost the whole message or the session. An error stands in place of an
// answer that has too many values. What is no message stays as it is.
func repaired(message []byte) []byte {
	message = bytes.TrimPrefix(message, []byte(byteOrderMark))
	if !json.Valid(message) {
		plainly := withoutControls(message)
		if !json.Valid(plainly) {
			return message
		}
		message = plainly
	}
	if short, ok := shortened(message); ok {
		return short
	}
	var m object
	if json.Unmarshal(message, &m) != nil || m == nil {
		return message
	}
	changed := repairID(m)
	if result, ok := repairedResult(m["result"]); ok {
		m["result"], changed = result, true
	}
	if !changed {
		return message
	}
	if out, err := plain.JSON(m); err == nil {
		return out
	}
	return message
}

// shortened returns the message in place of one that has too many values: an error for an answer, and a request
// without its parameters for a request. ok is false if the message has no more values than are read.
func shortened(message []byte) (short []byte, ok bool) {
	if heavy.ShapeOf(message).Values <= mostValues || message[0] != '{' {
		return nil, false
	}
	var head struct {
		ID     json.RawMessage `json:"id"`
		Method json.RawMessage `json:"method"`
		Result json.RawMessage `json:"result"`
	}
	var result struct {
		Structured json.RawMessage `json:"structuredContent"`
	}
	if json.Unmarshal(message, &head) != nil {
		return nil, false
	}
	if len(head.Result) > 0 && head.Result[0] == '{' && json.Unmarshal(head.Result, &result) == nil &&
		heavy.ShapeOf(message).Values-heavy.ShapeOf(result.Structured).Values <= mostValues {
		return nil, false
	}
	m := object{"jsonrpc": json.RawMessage(`"2.0"`)}
	if len(head.ID) > 0 {
		m["id"] = head.ID
	}
	if len(head.Method) > 0 {
		m["method"] = head.Method
	} else {
		m["error"] = fmt.Appendf(nil, `{"code":%d,"message":%q}`, codeUnread, tooMany)
		repairID(m)
	}
	short, err := plain.JSON(m)
	return short, err == nil
}

// withoutControls returns text without NUL bytes, and with blanks for the control characters that JSON
// allows in no string.
func withoutControls(text []byte) []byte {
	return bytes.Map(func(r rune) rune {
		switch {
		case r == 0:
			return -1
		case r < ' ':
			return ' '
		}
		return r
	}, text)
}

// numberID matches the id of a request of ours that came back as a text.
var numberID = regexp.MustCompile(`^"(\d{1,15})"$`)

// repairID makes a number of the id of a response: our requests have no other ids.
func repairID(m object) bool {
	_, isResult := m["result"]
	_, isError := m["error"]
	id := numberID.FindSubmatch(m["id"])
	if id == nil || !isResult && !isError {
		return false
	}
	number := bytes.TrimLeft(id[1], "0")
	if len(number) == 0 {
		number = []byte("0")
	}
	m["id"] = number
	return true
}

// repairedResult repairs a list of tools, or the result of a call. It makes a text of structured content: the SDK
// would round its numbers.
func repairedResult(text json.RawMessage) (repaired json.RawMessage, ok bool) {
	var result object
	if json.Unmarshal(text, &result) != nil {
		return nil, false
	}
	changed := false
	if list, isList := result["tools"]; isList {
		if tools, ok := repairedTools(list); ok {
			result["tools"], changed = tools, true
		}
	}
	if content, isCall := result["content"]; isCall {
		if parts, ok := repairedContent(content); ok {
			result["content"], changed = parts, true
		}
	}
	if value, ok := result["structuredContent"]; ok && string(value) != "null" {
		if text, err := plain.JSON(string(value)); err == nil {
			result["structuredContent"], changed = text, true
		}
	}
	if !changed {
		return nil, false
	}
	out, err := plain.JSON(result)
	return out, err == nil
}

// repairedTools leaves out what is no tool, and the parts of a tool that have not their form. Each tool
// carries the text of its schema. Of more than mostTools it returns only one more, with which the reader of
// the list warns.
func repairedTools(text json.RawMessage) (json.RawMessage, bool) {
	var list []json.RawMessage
	if json.Unmarshal(text, &list) != nil {
		return nil, false
	}
	tools := []object{}
	for _, one := range list {
		if len(tools) > mostTools {
			break
		}
		var tool object
		if json.Unmarshal(one, &tool) != nil || tool == nil {
			continue
		}
		if schema, ok := tool["inputSchema"]; ok {
			meta, err := plain.JSON(map[string]string{schemaKey: string(schema)})
			if err != nil {
				continue
			}
			tool["_meta"] = meta
		}
		for _, key := range []string{"", "annotations", "outputSchema", "icons", "title", "execution", "description", "name"} {
			delete(tool, key)
			if text, err := plain.JSON(tool); err == nil && json.Unmarshal(text, new(sdk.Tool)) == nil {
				break
			}
		}
		tools = append(tools, tool)
	}
	out, err := plain.JSON(tools)
	return out, err == nil
}

// repairedContent puts a text in place of each piece of a result that the SDK cannot read.
func repairedContent(text json.RawMessage) (json.RawMessage, bool) {
	var list []json.RawMessage
	changed := false
	if json.Unmarshal(text, &list) != nil { // one piece without its list
		list, changed = []json.RawMessage{text}, true
	}
	kept := []json.RawMessage{}
	for _, one := range list {
		if string(one) == "null" {
			changed = true
			continue
		}
		if json.Unmarshal(slices.Concat([]byte(`{"content":[`), one, []byte(`]}`)), new(sdk.CallToolResult)) != nil {
			changed = true
			stand, err := plain.JSON(map[string]string{"type": "text", "text": unreadable(one)})
			if err != nil {
				continue
			}
			one = stand
		}
		kept = append(kept, one)
	}
	if !changed {
		return nil, false
	}
	out, err := plain.JSON(kept)
	return out, err == nil
}

// unreadable returns the text in place of a piece of a result.
func unreadable(piece json.RawMessage) string {
	var said string
	if json.Unmarshal(piece, &said) == nil {
		return said
	}
	var fields struct {
		Type any             `json:"type"`
		Text json.RawMessage `json:"text"`
	}
	if json.Unmarshal(piece, &fields) != nil {
		return string(piece)
	}
	kind, _ := fields.Type.(string)
	note := fmt.Sprintf("[content of a kind that is not shown: %s]", oneLine(strings.TrimSpace(kind), mostLogged))
	text, err := exactJSON(string(fields.Text))
	switch text := text.(type) {
	case nil:
		return note
	case string:
		return note + "\n" + text
	default:
		if shown, jsonErr := plain.JSONLine(text); err == nil && jsonErr == nil {
			return shown
		}
		return note
	}
}
