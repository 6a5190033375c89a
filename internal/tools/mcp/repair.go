package mcp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/massgen/massgen/internal/system/plain"
)

// byteOrderMark is U+FEFF in UTF-8. Servers on .NET and PowerShell write it before their first message.
const byteOrderMark = "\uFEFF"

// schemaKey is where repaired leaves the text of a tool's schema: the SDK keeps only its value.
const schemaKey = "massgen/inputSchema"

type object = map[string]json.RawMessage

// repaired returns a message of a server in the form that the SDK reads. It mends what costs one tool,
// or one piece of a result, and would cost the whole message or the session. What is no message stays as
// it is.
func repaired(message []byte) []byte {
	message = bytes.TrimPrefix(message, []byte(byteOrderMark))
	if !json.Valid(message) {
		plainly := withoutControls(message)
		if !json.Valid(plainly) {
			return message
		}
		message = plainly
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

// repairedResult repairs a list of tools, or the result of a call.
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
	if !changed {
		return nil, false
	}
	out, err := plain.JSON(result)
	return out, err == nil
}

// repairedTools leaves out what is no tool, and the parts of a tool that have not their form. Each tool
// carries the text of its schema.
func repairedTools(text json.RawMessage) (json.RawMessage, bool) {
	var list []json.RawMessage
	if json.Unmarshal(text, &list) != nil {
		return nil, false
	}
	tools := []object{}
	for _, one := range list {
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
			if fits(tool, new(sdk.Tool)) {
				break
			}
		}
		tools = append(tools, tool)
	}
	out, err := plain.JSON(tools)
	return out, err == nil
}

// fits reports whether a value is JSON of the form of target.
func fits(value, target any) bool {
	text, err := plain.JSON(value)
	return err == nil && json.Unmarshal(text, target) == nil
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
		if !fits(map[string]any{"content": []any{one}}, new(sdk.CallToolResult)) {
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
		Type any `json:"type"`
		Text any `json:"text"`
	}
	if json.Unmarshal(piece, &fields) != nil {
		return string(piece)
	}
	kind, _ := fields.Type.(string)
	note := fmt.Sprintf("[content of a kind that is not shown: %s]", oneLine(strings.TrimSpace(kind), mostLogged))
	switch text := fields.Text.(type) {
	case nil:
		return note
	case string:
		return note + "\n" + text
	default:
		if shown, err := plain.JSONLine(text); err == nil {
			return shown
		}
		return note
	}
}
