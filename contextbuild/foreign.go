package contextbuild

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/massgen/massgen/backends"
)

// ForeignStep is a step of a conversation that massgen has not led: a text, or a call of a tool. A client brings it
// along, and models read it as a part of the user's question.
type ForeignStep struct {
	// Role is the author's. A call has the role of tools.
	Role backends.Role
	// Text is what the author wrote, or the result of the call.
	Text string
	// Tool and Arguments are of the call. Tool is empty if only the result is known.
	Tool, Arguments string
	// HasResult reports whether the call has a result.
	HasResult bool
}

// String returns the step for a question. It quotes a text that the user has not written. Some services refuse a
// user's message without a text, so a blank step says what it stands for: files of the user, or the beginning of a
// conversation by the assistant.
func (s ForeignStep) String() string {
	isBlank := strings.TrimSpace(s.Text) == ""
	switch {
	case s.Role == backends.RoleUser && isBlank:
		return "(See the attached files.)"
	case s.Role == backends.RoleUser:
		return s.Text
	case s.Role == backends.RoleAssistant && isBlank:
		return "(The assistant begins the conversation.)"
	case s.Role == backends.RoleAssistant:
		return "The assistant said:\n" + quoted(s.Text)
	}
	call := "A tool"
	if s.Tool != "" {
		call = fmt.Sprintf("The tool %s with %s", s.Tool, Clean(strings.ReplaceAll(cmp.Or(s.Arguments, "{}"), "\n", " ")))
	}
	if !s.HasResult {
		return call + " was called, and gave no result."
	}
	return call + " gave this result:\n" + quoted(s.Text)
}

// quoted returns a text with a mark before each line, so that no line looks like the user's.
func quoted(text string) string { return "> " + strings.ReplaceAll(text, "\n", "\n> ") }
