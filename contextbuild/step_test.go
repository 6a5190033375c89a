package contextbuild_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/contextbuild"
	"github.com/massgen/massgen/internal/coordination/policy"
)

func TestCountLeftOut(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		messages, results int
		want              string
	}{
		{1, 0, "1 earlier message was"},
		{2, 0, "2 earlier messages were"},
		{1, 1, "1 earlier message and 1 tool result were"},
		{3, 2, "3 earlier messages and 2 tool results were"},
	} {
		if got := contextbuild.CountLeftOut(c.messages, c.results); got != c.want {
			t.Errorf("%d messages, %d results: %q, want %q", c.messages, c.results, got, c.want)
		}
	}
}

// stepOf has three messages of a model, of 13 + 12, 8 and 3 bytes with what came back to them.
func stepOf() []backends.Message {
	return []backends.Message{
		backends.User("a question, which always counts for nothing"),
		{Role: backends.RoleAssistant, Parts: []backends.Part{backends.ToolCall{ID: "c1", Name: "read", Arguments: `{"a":1}`}}},
		{Role: backends.RoleTool, Parts: []backends.Part{backends.ToolResult{CallID: "c1", Content: "0123456789"}}},
		{Role: backends.RoleAssistant, Parts: []backends.Part{backends.Text{Text: "hello"}, backends.Opaque{Data: []byte("123")}}},
		{Role: backends.RoleAssistant, Parts: []backends.Part{backends.Text{Text: "end"}}},
	}
}

// TestSelectStepKeepsToTheLimits, to the byte and to the message.
func TestSelectStepKeepsToTheLimits(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		limits           policy.StepLimits
		from             int // the first message after the question that is sent
		leftOut, results int
	}{
		"all bytes fit":         {policy.StepLimits{Kind: policy.Full, Bytes: 36}, 1, 0, 0},
		"a byte too many":       {policy.StepLimits{Kind: policy.Full, Bytes: 35}, 3, 1, 1},
		"all messages fit":      {policy.StepLimits{Kind: policy.Prune, Messages: 4, Keep: 2}, 1, 0, 0},
		"a message too many":    {policy.StepLimits{Kind: policy.Prune, Messages: 3, Keep: 2}, 3, 1, 1},
		"only the newest stays": {policy.StepLimits{Kind: policy.Prune, Messages: 3, Keep: 1}, 4, 2, 1},
	} {
		messages := stepOf()
		kept, leftOut, results := contextbuild.SelectStep(messages, c.limits)
		if leftOut != c.leftOut || results != c.results {
			t.Errorf("%s: %d messages and %d results are left out", name, leftOut, results)
		}
		if diff := cmp.Diff(messages[c.from:], kept[1:]); diff != "" {
			t.Errorf("%s: behind the question is sent (-want +got):\n%s", name, diff)
		}
		told := strings.Contains(kept[0].Text(), contextbuild.StepLeftOut(leftOut, results, ""))
		if told != (leftOut > 0) {
			t.Errorf("%s: the question is %q", name, kept[0].Text())
		}
		if diff := cmp.Diff(stepOf(), messages); diff != "" {
			t.Errorf("%s: the messages given were changed:\n%s", name, diff)
		}
	}
}

// TestAddWordKeepsRolesAlternating: behind a result of a tool the word is part of it, and
// behind a model's message it is a message of the user's.
func TestAddWordKeepsRolesAlternating(t *testing.T) {
	t.Parallel()
	step := stepOf()
	for name, c := range map[string]struct {
		messages, want []backends.Message
	}{
		"nothing":    {nil, []backends.Message{backends.User("word")}},
		"a question": {step[:1], []backends.Message{backends.User(step[0].Text() + "\n\nword")}},
		"a result": {step[2:3], []backends.Message{
			{Role: backends.RoleTool, Parts: []backends.Part{backends.ToolResult{CallID: "c1", Content: "0123456789\n\nword"}}},
		}},
		"a model": {step[4:], []backends.Message{step[4], backends.User("word")}},
	} {
		if diff := cmp.Diff(c.want, contextbuild.AddWord(c.messages, "word")); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
