package backends

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/massgen/massgen/internal/system/plain"
)

// NoResult is the content of the result that Repair gives to a call that never got
// its own, as after a cancel.
const NoResult = "There is no result: the call was interrupted."

// Repair returns a conversation that every provider accepts, as close to
// messages as can be. In it
//   - each message with tool calls is followed at once by one RoleTool message
//     with exactly one result for each call, in the order of the calls; a call
//     without a result gets one that says so, a result without a call is left out;
//   - the ids of a message's calls are not empty and differ;
//   - the name of each call fits what providers allow (letters, digits, "_" and
//     "-", at most 64), and its arguments are a JSON object: other text is
//     wrapped as {"invalid_arguments": text};
//   - tool calls stand only in assistant messages, results only in tool messages,
//     and no message is without parts.
//
// A conversation that already has this form is returned equal. Repair is a pure
// function: it changes neither messages nor their parts.
func Repair(messages []Message) []Message {
	repaired, _ := RepairNoting(messages)
	return repaired
}

// RepairNoting is Repair with a note for each call that had no result and each
// result that had no call: a line for people that numbers the messages from 1.
func RepairNoting(messages []Message) (repaired []Message, notes []string) {
	var r repairer
	for i, m := range messages {
		r.add(i+1, m)
	}
	return r.messages(), r.notes
}

// repairedMessage is a message and the tools that it calls.
type repairedMessage struct {
	number  int // its place in the conversation, from 1
	message Message
	calls   []repairedCall
}

type repairedCall struct {
	original string // the id that results refer to
	call     ToolCall
	result   *ToolResult // nil until there is one
}

type repairer struct {
	entries []repairedMessage
	notes   []string
}

func (r *repairer) note(number int, format string, args ...any) {
	r.notes = append(r.notes, fmt.Sprintf("message %d: %s", number, fmt.Sprintf(format, args...)))
}

// add adds a message. A tool's result goes to the entry with its call.
func (r *repairer) add(number int, m Message) {
	entry := repairedMessage{number: number, message: Message{Role: m.Role}}
	if m.Role == RoleTool {
		entry.message.Role = RoleUser // of the parts that are no results
	}
	for _, part := range m.Parts {
		switch p := part.(type) {
		case ToolResult:
			if !r.addResult(p) {
				r.note(number, "the result for %q was left out: no call waits for it", p.CallID)
			}
			continue
		case ToolCall:
			if m.Role != RoleAssistant {
				continue
			}
			call := entry.validCall(p)
			entry.calls = append(entry.calls, repairedCall{original: p.ID, call: call})
			part = call
		}
		entry.message.Parts = append(entry.message.Parts, part)
	}
	if len(entry.message.Parts) > 0 {
		r.entries = append(r.entries, entry)
	}
}

// addResult gives a result to the latest open call with its id, because some services use the same ids
// again in each message. It returns false if there is no such call.
func (r *repairer) addResult(result ToolResult) bool {
	for _, e := range slices.Backward(r.entries) {
		for i := range e.calls {
			c := &e.calls[i]
			if c.original == result.CallID && c.result == nil {
				result.CallID, result.Name = c.call.ID, c.call.Name
				c.result = &result
				return true
			}
		}
	}
	return false
}

func (e *repairedMessage) validCall(c ToolCall) ToolCall {
	return ToolCall{ID: e.freeID(c.ID), Name: validName(c.Name), Arguments: validArguments(c.Arguments)}
}

// freeID returns id, or one made from it that no earlier call of the message has.
func (e *repairedMessage) freeID(id string) string {
	if id == "" {
		id = "call"
	} else if !e.hasID(id) {
		return id
	}
	for n := len(e.calls) + 1; ; n++ {
		if candidate := fmt.Sprintf("%s_%d", id, n); !e.hasID(candidate) {
			return candidate
		}
	}
}

func (e *repairedMessage) hasID(id string) bool {
	for _, c := range e.calls {
		if c.call.ID == id {
			return true
		}
	}
	return false
}

func (r *repairer) messages() []Message {
	var out []Message
	for _, e := range r.entries {
		out = append(out, e.message)
		if len(e.calls) == 0 {
			continue
		}
		results := Message{Role: RoleTool}
		for _, c := range e.calls {
			if c.result == nil {
				r.note(e.number, "the call %q of %s has no result, and was given one that says so", c.call.ID, c.call.Name)
				c.result = &ToolResult{CallID: c.call.ID, Name: c.call.Name, Content: NoResult, IsError: true}
			}
			results.Parts = append(results.Parts, *c.result)
		}
		out = append(out, results)
	}
	return out
}

const maxNameLength = 64

func validName(name string) string {
	valid := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '_', r == '-':
			return r
		}
		return '_'
	}, name)
	if valid == "" {
		return "unnamed_tool"
	}
	return valid[:min(len(valid), maxNameLength)]
}

func validArguments(arguments string) string {
	trimmed := strings.TrimSpace(arguments)
	if trimmed == "" {
		return "{}"
	}
	if strings.HasPrefix(trimmed, "{") && json.Valid([]byte(trimmed)) {
		return arguments
	}
	wrapped, err := plain.JSON(map[string]string{"invalid_arguments": arguments})
	if err != nil {
		return "{}" // a map of strings always encodes
	}
	return string(wrapped)
}
