package effect

import "github.com/massgen/massgen/internal/system/blob"

// Permission decides whether a call of one of the agent's own tools may run. It follows from rules
// about the tool and its arguments.
type Permission string

// The permissions. The zero value is Allowed.
const (
	Allowed Permission = ""
	Asked   Permission = "ask"
	Denied  Permission = "deny"
)

// PermissionRequest is a question for a person: whether a tool call may run. It is no effect, since
// nothing is in flight while it waits.
type PermissionRequest struct {
	// Key is the key of the ToolCall that follows if the person allows it.
	Key     Key      `json:"key"`
	Message blob.Ref `json:"message"`
	Call    int      `json:"call"`
	Name    string   `json:"name"`
	// Why is the rule that leaves the call to a person.
	Why string `json:"why,omitempty"`
}
