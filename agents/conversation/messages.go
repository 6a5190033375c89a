package conversation

import (
	"encoding/json"
	"slices"

	"github.com/massgen/massgen/backends"
)

// Messages is a conversation, oldest message first. docs/conversation.md describes its JSON.
// This package does not change the messages that a caller hands in, and a caller must not
// change the messages that it gets: whoever extends a conversation makes another.
type Messages []backends.Message

// ToolCall is a tool call of a model, for the caller to run.
type ToolCall struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	// Arguments is a JSON object. If the model wrote anything else, it is
	// {"invalid_arguments": text}.
	Arguments json.RawMessage `json:"arguments"`
}

// ToolResult answers the tool call with the id ToolUseID.
type ToolResult struct {
	ToolUseID string `json:"tool_use_id"`
	Content   string `json:"content"`
	IsError   bool   `json:"is_error,omitempty"`
}

// Repaired returns the conversation as every provider accepts it (backends.Repair),
// and a line for each call that had no result and each result that had no call. The
// calls of the last message may be open: their results come next.
func (m Messages) Repaired() (Messages, []string) {
	if len(m.open()) == 0 {
		return backends.RepairNoting(m)
	}
	last := len(m) - 1
	misplaced := slices.DeleteFunc(slices.Clone(m[last].Parts), func(p backends.Part) bool {
		_, isResult := p.(backends.ToolResult)
		return !isResult
	})
	repaired, notes := backends.RepairNoting(m[:last].with(backends.Message{Role: backends.RoleTool, Parts: misplaced}))
	return append(repaired, backends.Repair(m[last:])[0]), notes
}

// open returns the calls of the last message, which wait for their results.
func (m Messages) open() []backends.ToolCall {
	if len(m) == 0 || m[len(m)-1].Role != backends.RoleAssistant {
		return nil
	}
	return m[len(m)-1].ToolCalls()
}

// with returns the conversation with more at its end.
func (m Messages) with(more ...backends.Message) Messages {
	return append(slices.Clip(m), more...)
}
