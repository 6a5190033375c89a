package backends_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/massgen/massgen/backends"
)

// drawMessages draws conversations of the worst kind: few ids, so that they
// repeat, and any part in any role.
func drawMessages(t *rapid.T) []backends.Message {
	id := rapid.SampledFrom([]string{"", "call_1", "a", "b", "a_2"})
	name := rapid.SampledFrom([]string{"", "vote", "functions.vote", "näme", strings.Repeat("long", 20)})
	arguments := rapid.SampledFrom([]string{"", "{}", ` {"a":1}`, `{"a":`, "[1]", "null", `"{}"`, "plain"})
	role := rapid.SampledFrom([]backends.Role{backends.RoleSystem, backends.RoleUser, backends.RoleAssistant, backends.RoleTool})
	part := rapid.Custom(func(t *rapid.T) backends.Part {
		switch rapid.IntRange(0, 4).Draw(t, "kind") {
		case 0:
			return backends.Text{Text: rapid.SampledFrom([]string{"", "hello"}).Draw(t, "text")}
		case 1, 2:
			return backends.ToolCall{ID: id.Draw(t, "id"), Name: name.Draw(t, "name"), Arguments: arguments.Draw(t, "arguments")}
		default:
			n := rapid.IntRange(0, 1<<30).Draw(t, "content")
			return backends.ToolResult{CallID: id.Draw(t, "id"), Content: fmt.Sprint("result ", n)}
		}
	})
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) backends.Message {
		return backends.Message{Role: role.Draw(t, "role"), Parts: rapid.SliceOfN(part, 0, 4).Draw(t, "parts")}
	}), 0, 8).Draw(t, "messages")
}

// problem says what a provider would refuse in a conversation, or "".
func problem(messages []backends.Message) string {
	for i, m := range messages {
		if len(m.Parts) == 0 {
			return fmt.Sprintf("message %d is empty", i)
		}
		if p := misplaced(m); p != "" {
			return fmt.Sprintf("message %d: %s", i, p)
		}
		calls := m.ToolCalls()
		if len(calls) > 0 {
			if i+1 == len(messages) || !slices.Equal(callIDs(calls), resultIDs(messages[i+1])) {
				return fmt.Sprintf("the calls of message %d are not followed by their results", i)
			}
		}
		if m.Role == backends.RoleTool && (i == 0 || len(messages[i-1].ToolCalls()) == 0) {
			return fmt.Sprintf("the results of message %d follow no calls", i)
		}
	}
	return ""
}

func misplaced(m backends.Message) string {
	seen := map[string]bool{}
	for _, p := range m.Parts {
		switch p := p.(type) {
		case backends.ToolResult:
			if m.Role != backends.RoleTool {
				return "a result in a message of role " + string(m.Role)
			}
		case backends.ToolCall:
			var object map[string]any
			switch {
			case m.Role != backends.RoleAssistant:
				return "a call in a message of role " + string(m.Role)
			case p.ID == "" || seen[p.ID]:
				return "the id of a call is empty or not its own: " + p.ID
			case p.Name == "" || len(p.Name) > 64 || strings.ContainsAny(p.Name, ".ä"):
				return "the name of a call is not valid: " + p.Name
			case json.Unmarshal([]byte(p.Arguments), &object) != nil || object == nil:
				return "arguments are no object: " + p.Arguments
			}
			seen[p.ID] = true
		default:
			if m.Role == backends.RoleTool {
				return "a tool message holds more than results"
			}
		}
	}
	return ""
}

func callIDs(calls []backends.ToolCall) []string {
	var ids []string
	for _, c := range calls {
		ids = append(ids, c.ID)
	}
	return ids
}

func resultIDs(m backends.Message) []string {
	var ids []string
	for _, p := range m.Parts {
		if r, ok := p.(backends.ToolResult); ok {
			ids = append(ids, r.CallID)
		}
	}
	return ids
}

func mustJSON(t interface{ Fatal(...any) }, v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestRepairMakesEveryConversationValid(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		in := drawMessages(t)
		before := mustJSON(t, in)
		out := backends.Repair(in)
		if p := problem(out); p != "" {
			t.Fatalf("%s in %s", p, mustJSON(t, out))
		}
		if after := mustJSON(t, in); after != before {
			t.Fatalf("the input was changed:\n%s\n%s", before, after)
		}
		if diff := cmp.Diff(out, backends.Repair(out)); diff != "" {
			t.Fatalf("a valid conversation was changed:\n%s", diff)
		}
	})
}

// TestRepairKeeps checks that nothing else is lost: texts and calls all stay in
// their order, and no result is made up while a real one waits.
func TestRepairKeeps(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := drawMessages(t)
		out := backends.Repair(in)
		if diff := cmp.Diff(kept(in), kept(out)); diff != "" {
			t.Fatalf("texts or calls changed:\n%s", diff)
		}
		for content, n := range resultContents(out) {
			if content != backends.NoResult && n > resultContents(in)[content] {
				t.Fatalf("result %q was repeated", content)
			}
		}
	})
}

func kept(messages []backends.Message) []string {
	var out []string
	for _, m := range messages {
		for _, p := range m.Parts {
			switch p.(type) {
			case backends.Text:
				out = append(out, "text")
			case backends.ToolCall:
				if m.Role == backends.RoleAssistant {
					out = append(out, "call")
				}
			}
		}
	}
	return out
}

func resultContents(messages []backends.Message) map[string]int {
	contents := map[string]int{}
	for _, m := range messages {
		for _, p := range m.Parts {
			if r, ok := p.(backends.ToolResult); ok {
				contents[r.Content]++
			}
		}
	}
	return contents
}

type repairExample struct {
	name     string
	in, want []backends.Message
}

func TestRepairByExample(t *testing.T) {
	for _, c := range repairExamples() {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, backends.Repair(c.in)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestRepairNotesWhatLackedTheOther(t *testing.T) {
	call := func(id string) backends.ToolCall { return backends.ToolCall{ID: id, Name: "read.file"} }
	conversation := []backends.Message{
		backends.User("hi"),
		{Role: backends.RoleAssistant, Parts: []backends.Part{call("a"), call("b")}},
		{Role: backends.RoleTool, Parts: []backends.Part{backends.ToolResult{CallID: "b"}, backends.ToolResult{CallID: "c"}}},
		{Role: backends.RoleAssistant, Parts: []backends.Part{call("a")}},
		{Role: backends.RoleTool, Parts: []backends.Part{backends.ToolResult{CallID: "a"}}},
	}
	want := []string{
		`message 3: the result for "c" was left out: no call waits for it`,
		`message 2: the call "a" of read_file has no result, and was given one that says so`,
	}
	repaired, notes := backends.RepairNoting(conversation)
	if diff := cmp.Diff(want, notes); diff != "" {
		t.Error(diff)
	}
	if _, notes := backends.RepairNoting(repaired); len(notes) > 0 {
		t.Errorf("a repaired conversation has the notes %q", notes)
	}
}

func repairExamples() []repairExample {
	call := func(id string) backends.ToolCall { return backends.ToolCall{ID: id, Name: "vote", Arguments: "{}"} }
	result := func(id, text string) backends.ToolResult {
		return backends.ToolResult{CallID: id, Name: "vote", Content: text}
	}
	none := func(id string) backends.ToolResult {
		return backends.ToolResult{CallID: id, Name: "vote", Content: backends.NoResult, IsError: true}
	}
	assistant := func(parts ...backends.Part) backends.Message {
		return backends.Message{Role: backends.RoleAssistant, Parts: parts}
	}
	tool := func(parts ...backends.Part) backends.Message {
		return backends.Message{Role: backends.RoleTool, Parts: parts}
	}
	return []repairExample{
		{
			"a cancelled call gets a result",
			[]backends.Message{assistant(call("a")), backends.User("go on")},
			[]backends.Message{assistant(call("a")), tool(none("a")), backends.User("go on")},
		},
		{
			"results move to their calls, in the order of the calls",
			[]backends.Message{assistant(call("a"), call("b")), tool(result("b", "B")), backends.User("wait"), tool(result("a", "A"))},
			[]backends.Message{assistant(call("a"), call("b")), tool(result("a", "A"), result("b", "B")), backends.User("wait")},
		},
		{
			"an orphan goes",
			[]backends.Message{backends.User("hi"), tool(result("gone", "?"))},
			[]backends.Message{backends.User("hi")},
		},
		{
			"an id that was used before belongs to the later call",
			[]backends.Message{assistant(call("a")), tool(result("a", "1")), assistant(call("a")), tool(result("a", "2"))},
			[]backends.Message{assistant(call("a")), tool(result("a", "1")), assistant(call("a")), tool(result("a", "2"))},
		},
		{
			"a result that could belong to two messages belongs to the later",
			[]backends.Message{assistant(call("a")), assistant(call("a")), tool(result("a", "2"))},
			[]backends.Message{assistant(call("a")), tool(none("a")), assistant(call("a")), tool(result("a", "2"))},
		},
		{
			"calls that share an id are told apart, and their results by their order",
			[]backends.Message{assistant(call("a"), call("a")), tool(result("a", "1"), result("a", "2"))},
			[]backends.Message{assistant(call("a"), call("a_2")), tool(result("a", "1"), result("a_2", "2"))},
		},
		{
			"arguments that are no object are shown inside of one",
			[]backends.Message{assistant(backends.ToolCall{ID: "a", Name: "x.y", Arguments: `{"<q>":`}), tool(result("a", "1"))},
			[]backends.Message{
				assistant(backends.ToolCall{ID: "a", Name: "x_y", Arguments: `{"invalid_arguments":"{\"<q>\":"}`}),
				tool(backends.ToolResult{CallID: "a", Name: "x_y", Content: "1"}),
			},
		},
	}
}
