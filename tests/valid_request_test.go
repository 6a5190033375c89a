package tests

import (
	"slices"
	"strings"
	"testing"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/tests/backendtest"
)

// invalid says what a service would refuse in a request, or "".
func invalid(t *testing.T, to protocol, sent backendtest.Call) string {
	t.Helper()
	if problem := unpaired(to, sent.Messages()); problem != "" {
		return problem
	}
	switch {
	case to.name == "claude":
		return thoughtless(t, string(sent.Body))
	case strings.HasPrefix(to.model, "gemini-3"):
		return unsigned(t, string(sent.Body))
	}
	return ""
}

// unpaired says what is wrong with the tool calls and results of a conversation: each
// call has its result, right after its message and in its order. Gemini's calls need
// no ids, OpenAI's differ within a message, and Claude's in all of the conversation.
func unpaired(to protocol, messages []backends.Message) string {
	var open []backends.ToolCall
	seen := map[string]bool{}
	for _, m := range messages {
		if m.Role != backends.RoleTool && len(open) > 0 {
			return "a call without its result"
		}
		if len(m.ToolCalls()) > 0 && to.name == "openai" {
			clear(seen)
		}
		for _, p := range m.Parts {
			switch p := p.(type) {
			case backends.ToolResult:
				if len(open) == 0 || open[0].ID != p.CallID {
					return "a result that has not the place of its call"
				}
				open = open[1:]
			case backends.ToolCall:
				if to.name != "gemini" && (p.ID == "" || seen[p.ID]) {
					return "a call without an id of its own"
				}
				seen[p.ID] = true
				open = append(open, p)
			}
		}
	}
	if len(open) > 0 {
		return "a call without its result at the end"
	}
	return ""
}

// thoughtless is what Claude refuses of a model that thinks by a budget: a tool loop
// that does not begin with a thought.
func thoughtless(t *testing.T, body string) string {
	t.Helper()
	request := decoded[struct {
		Thinking struct{ Type string }
		Messages []struct{ Content []struct{ Type string } }
	}](t, body)
	isResult := func(block struct{ Type string }) bool { return block.Type == "tool_result" }
	begin := len(request.Messages) - 1
	for begin > 0 && slices.ContainsFunc(request.Messages[begin].Content, isResult) {
		begin -= 2
	}
	inLoop := begin < len(request.Messages)-1
	if request.Thinking.Type == "enabled" && inLoop && !strings.Contains(request.Messages[begin+1].Content[0].Type, "thinking") {
		return "a budget to think in a loop that began without a thought"
	}
	return ""
}

// unsigned is what Gemini 3 refuses: a message of the present turn whose first call
// has no signature, of its own or in place of one.
func unsigned(t *testing.T, body string) string {
	t.Helper()
	request := decoded[struct {
		Contents []struct {
			Role  string
			Parts []map[string]any
		}
	}](t, body)
	for _, c := range slices.Backward(request.Contents) {
		if c.Role == "user" && c.Parts[0]["functionResponse"] == nil {
			return "" // the question, with which the turn begins
		}
		call := slices.IndexFunc(c.Parts, func(p map[string]any) bool { return p["functionCall"] != nil })
		if call >= 0 && c.Parts[call]["thoughtSignature"] == nil {
			return "a call without a signature"
		}
	}
	return ""
}
