package anthropic

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/massgen/massgen/backends"
)

func TestVersionOf(t *testing.T) {
	for model, want := range map[string]version{
		"claude-2.1":                              201,
		"claude-3-opus-20240229":                  300,
		"claude-3-5-haiku-latest":                 305,
		"claude-3-7-sonnet-20250219":              307,
		"claude-opus-4-20250514":                  400,
		"claude-sonnet-4-0":                       400,
		"claude-opus-4-1-20250805":                401,
		"claude-haiku-4-5":                        405,
		"claude-opus-4-6":                         406,
		"anthropic/claude-opus-4.6":               406,
		"anthropic/claude-4.7-opus":               407,
		"us.anthropic.claude-opus-4-6-v1:0":       406,
		"anthropic.claude-sonnet-4-20250514-v1:0": 400,
		"claude-opus-5":                           500,
		"claude-fable-5-1":                        501,
		"claude-mythos-preview":                   407,
		"claude-next":                             0,
		"deepseek-chat":                           0,
		"":                                        0,
	} {
		if got := versionOf(model); got != want {
			t.Errorf("%q is %d, want %d", model, got, want)
		}
	}
}

// drawMessages draws conversations of the worst kind: few ids, so that they repeat,
// blank texts, any part in any role.
func drawMessages(t *rapid.T) []backends.Message {
	id := rapid.SampledFrom([]string{"", "call_0", "a", "a_2", "a.b", "a:b", strings.Repeat("long", 20)})
	text := rapid.SampledFrom([]string{"", " ", "\n\t", "hello"})
	part := rapid.Custom(func(t *rapid.T) backends.Part {
		switch rapid.IntRange(0, 5).Draw(t, "kind") {
		case 0:
			return backends.Text{Text: text.Draw(t, "text")}
		case 1, 2:
			return backends.ToolCall{ID: id.Draw(t, "id"), Name: "x", Arguments: "{}"}
		case 3:
			return backends.ToolResult{CallID: id.Draw(t, "id"), Content: text.Draw(t, "content")}
		case 4:
			return backends.Opaque{Provider: "p", Model: "m", Data: []byte(`{"type":"thinking","signature":"x"}`)}
		default:
			return backends.Reasoning{Text: "hm"}
		}
	})
	role := rapid.SampledFrom([]backends.Role{backends.RoleSystem, backends.RoleUser, backends.RoleAssistant, backends.RoleTool})
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) backends.Message {
		return backends.Message{Role: role.Draw(t, "role"), Parts: rapid.SliceOfN(part, 0, 4).Draw(t, "parts")}
	}), 0, 10).Draw(t, "messages")
}

type sentBlock struct {
	Type      string      `json:"type"`
	Text      string      `json:"text"`
	ID        string      `json:"id"`
	ToolUseID string      `json:"tool_use_id"`
	Content   []sentBlock `json:"content"`
}

type sentRequest struct {
	System   []sentBlock `json:"system"`
	Messages []struct {
		Role    string      `json:"role"`
		Content []sentBlock `json:"content"`
	} `json:"messages"`
}

// TestEveryConversationIsValid checks what the service refuses a request for.
func TestEveryConversationIsValid(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		params, err := encode(backends.Request{
			Model: "m", Messages: drawMessages(t), Tools: []backends.Tool{{Name: "a"}, {Name: "b"}},
		}, "p")
		if err != nil {
			t.Fatal(err)
		}
		body, err := json.Marshal(params)
		if err != nil {
			t.Fatal(err)
		}
		var sent sentRequest
		if err := json.Unmarshal(body, &sent); err != nil {
			t.Fatal(err)
		}
		if p := problem(sent); p != "" {
			t.Fatalf("%s in %s", p, body)
		}
		if n := strings.Count(string(body), "cache_control"); n > 4 {
			t.Fatalf("%d cache marks in %s", n, body)
		}
	})
}

func problem(sent sentRequest) string {
	ids := map[string]bool{}
	var open []string // the calls of the message before
	for i, m := range sent.Messages {
		if i > 0 && sent.Messages[i-1].Role == m.Role {
			return fmt.Sprintf("message %d has the role of the one before", i)
		}
		if len(m.Content) == 0 {
			return fmt.Sprintf("message %d is empty", i)
		}
		var calls []string
		for j, b := range m.Content {
			switch {
			case b.Type == "text" && strings.TrimSpace(b.Text) == "":
				return "a blank text"
			case b.Type == "thinking" && m.Role != "assistant":
				return "thinking of the user"
			case b.Type == "tool_use" && (ids[b.ID] || !regexp.MustCompile(`^[a-zA-Z0-9_-]+$`).MatchString(b.ID)):
				return "an id that is not valid or not its own: " + b.ID
			case b.Type == "tool_use":
				ids[b.ID] = true
				calls = append(calls, b.ID)
			case b.Type == "tool_result" && (j >= len(open) || open[j] != b.ToolUseID):
				return "a result that is not that of its call: " + b.ToolUseID
			case b.Type == "tool_result" && len(b.Content) > 0 && strings.TrimSpace(b.Content[0].Text) == "":
				return "a blank result"
			}
		}
		if m.Role == "user" && len(m.Content) < len(open) {
			return "a call without a result"
		}
		open = calls
	}
	if len(open) > 0 {
		return "calls without results at the end"
	}
	return ""
}

// TestArgumentsAreSentAtOnce by Anthropic itself, if a call has tools. Other services may not know the beta.
func TestArgumentsAreSentAtOnce(t *testing.T) {
	withTools := backends.Request{Model: "claude-sonnet-4-5", Messages: []backends.Message{backends.User("hi")}, Tools: []backends.Tool{{Name: "t", Schema: []byte(`{"type":"object"}`)}}}
	without := withTools
	without.Tools = nil
	for _, c := range []struct {
		req         backends.Request
		isAnthropic bool
		own, want   map[string]string
	}{
		{withTools, true, nil, map[string]string{"anthropic-beta": eager}},
		{withTools, true, map[string]string{"Anthropic-Beta": "a"}, map[string]string{"anthropic-beta": "a," + eager}},
		{withTools, false, nil, nil},
		{without, true, nil, nil},
	} {
		params, err := encode(c.req, "claude")
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(c.want, headers(params, c.own, c.isAnthropic)); diff != "" {
			t.Error(diff)
		}
	}
	for base, want := range map[string]bool{"": true, "https://api.anthropic.com/v1": true, "http://localhost:1": false} {
		if b, err := New(Config{BaseURL: base}); err != nil || b.isAnthropic != want {
			t.Errorf("%q is taken for Anthropic: %t, %v", base, !want, err)
		}
	}
}

// TestThinkingBetweenTools is a beta for models that think by a budget, beside the betas that a
// config asks for.
func TestThinkingBetweenTools(t *testing.T) {
	tokens := 2000
	for _, c := range []struct {
		model string
		tools bool
		own   map[string]string
		want  map[string]string
	}{
		{"claude-sonnet-4-5", true, nil, map[string]string{"anthropic-beta": interleaved}},
		{"claude-sonnet-4-5", true, map[string]string{"Anthropic-Beta": "a"}, map[string]string{"anthropic-beta": "a," + interleaved}},
		{"claude-opus-4-6", true, map[string]string{"X": "y"}, map[string]string{"anthropic-beta": interleaved, "X": "y"}},
		{"claude-sonnet-4-5", false, nil, nil},
		{"claude-3-7-sonnet-20250219", true, nil, nil},
		{"deepseek-chat", true, nil, nil},
	} {
		req := backends.Request{Model: c.model, Messages: []backends.Message{backends.User("hi")}, Params: backends.Params{ReasoningTokens: &tokens}}
		if c.tools {
			req.Tools = []backends.Tool{{Name: "t", Schema: []byte(`{"type":"object"}`)}}
		}
		params, err := encode(req, "claude")
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(c.want, headers(params, c.own, false)); diff != "" {
			t.Errorf("%s: %s", c.model, diff)
		}
	}
}
