package openai_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/backends/openai"
	"github.com/massgen/massgen/tests/backendtest"
)

// TestToolsOfTheMessagesAreDefinedOnDemand: a service that wants definitions of the tools in the messages gets them
// with one more request, and at once in later calls.
func TestToolsOfTheMessagesAreDefinedOnDemand(t *testing.T) {
	const answer = `{"choices":[{"message":{"content":"x"},"finish_reason":"stop"}]}`
	for _, refusal := range []string{
		`litellm.BadRequestError: BedrockException - {"message":"The toolConfig field must be defined when using toolUse and toolResult content blocks."}`,
		"Requests which include `tool_use` or `tool_result` blocks must define tools.",
		"litellm.UnsupportedParamsError: Bedrock doesn't support tool calling without `tools=` param specified. Pass `tools=` param OR set `litellm.modify_params = True`",
		"Anthropic expects the `tools=` param to be passed in when messages contain tool calls",
	} {
		for _, choices := range []bool{true, false} {
			replies := []string{"400 " + refusal}
			if !choices {
				replies = append(replies, "400 Bedrock doesn't support tool_choice=none. To drop it from the call, set `litellm.drop_params = True`")
			}
			url, requests := answering(t, append(replies, answer)...)
			b := newBackend(t, openai.Config{BaseURL: url, Provider: "test"})
			ask(t, b, "m", called("f", "g", "f"))
			ask(t, b, "m", called("f"))
			ask(t, b, "m", []backends.Message{backends.User("go")})
			ask(t, b, "another", called("f"))
			var got []string
			for _, body := range *requests {
				var sent struct {
					Tools []struct {
						Function struct {
							Name string `json:"name"`
						} `json:"function"`
					} `json:"tools"`
					Choice string `json:"tool_choice"`
				}
				if err := json.Unmarshal(body, &sent); err != nil {
					t.Fatal(err)
				}
				line := ""
				for _, tool := range sent.Tools {
					line += tool.Function.Name + " "
				}
				got = append(got, line+sent.Choice)
			}
			want := []string{"", "f g none", "f none", "", ""}
			if !choices {
				want = []string{"", "f g none", "f g ", "f ", "", ""}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", refusal, diff)
			}
		}
	}
}

// TestToolsAreDefinedOnlyForACallWithoutThem: no refusal is answered twice, and none of a call that offers tools
// or has no calls in its messages.
func TestToolsAreDefinedOnlyForACallWithoutThem(t *testing.T) {
	withTools := backends.Request{Messages: called("f"), Tools: []backends.Tool{{Name: "f"}}}
	for name, c := range map[string]struct {
		req  backends.Request
		want int
	}{"no calls": {simple(), 1}, "tools": {withTools, 1}, "refused again": {backends.Request{Messages: called("f")}, 2}} {
		url, requests := answering(t, "400 The toolConfig field must be defined when using toolUse and toolResult content blocks.")
		e := backendtest.Fail(t, newBackend(t, openai.Config{BaseURL: url, Model: "m"}), c.req)
		if e.Kind != backends.KindBadRequest || len(*requests) != c.want {
			t.Errorf("%s: %d requests, %v", name, len(*requests), e)
		}
	}
}

// TestCallsOfOthersAreSignedOnDemand: a service that wants a signature gets the one that its documentation gives
// for calls of other models, once for each message, and from then on.
func TestCallsOfOthersAreSignedOnDemand(t *testing.T) {
	const refusal = "400 Function call is missing a thought_signature in functionCall parts."
	url, requests := answering(t, refusal, `{"choices":[{"message":{"content":"x"},"finish_reason":"stop"}]}`)
	b := newBackend(t, openai.Config{BaseURL: url, Provider: "test"})
	for range 2 {
		ask(t, b, "m", called("f", "g"))
	}
	if len(*requests) != 3 {
		t.Fatalf("%d requests", len(*requests))
	}
	for i, body := range *requests {
		if n := strings.Count(string(body), `"extra_content":{"google":{"thought_signature":"skip_thought_signature_validator"}}`); n != min(i, 1) {
			t.Errorf("request %d has %d signatures: %s", i+1, n, body)
		}
	}
}

// called is a conversation in which a model has called tools in one message.
func called(names ...string) []backends.Message {
	calls := backends.Message{Role: backends.RoleAssistant}
	results := backends.Message{Role: backends.RoleTool}
	for _, name := range names {
		calls.Parts = append(calls.Parts, backends.ToolCall{ID: "id" + name, Name: name, Arguments: "{}"})
		results.Parts = append(results.Parts, backends.ToolResult{CallID: "id" + name, Content: "done"})
	}
	return []backends.Message{backends.User("go"), calls, results}
}
