package openai_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/backends/openai"
	"github.com/massgen/massgen/tests/backendtest"
)

func newResponses(cfg openai.Config) (*openai.Backend, error) {
	return openai.NewDialect(cfg, openai.Dialect{API: "responses", ThinkTags: true})
}

func TestResponsesConformance(t *testing.T) {
	t.Parallel()
	backendtest.RunAdapter(t, backendtest.Responses(), newResponses)
}

func TestHostedTools(t *testing.T) {
	t.Parallel()
	backendtest.RunHosted(t, backendtest.Responses(), "gpt-5", func(cfg openai.Config) (*openai.Backend, error) {
		return openai.NewDialect(cfg, openai.OpenAI()) // which the hosted tools lead to the Responses API
	})
}

func overResponses(t testing.TB, transport http.RoundTripper) backends.Backend {
	return newDialect(t, openai.Dialect{API: "responses", ThinkTags: true}, openai.Config{Provider: "test", Transport: transport})
}

func TestResponsesStreams(t *testing.T) {
	backendtest.RunStreams(t, "testdata/responses", overResponses)
}

// FuzzResponses checks that no body makes the adapter panic or hang.
func FuzzResponses(f *testing.F) {
	f.Add([]byte("data: {\"type\":\"response.output_item.done\",\"output_index\":1,\"item\":{\"type\":\"function_call\",\"call_id\":\"a\",\"name\":\"x\",\"arguments\":\"{}\"}}\n\ndata: {\"type\":\"response.completed\",\"response\":{}}\n\n"))
	f.Add([]byte("data: {\"type\":\"response.output_item.done\",\"item\":{\"type\":\"reasoning\",\"encrypted_content\":\"e\",\"summary\":[{\"text\":\"t\"}]}}\n\ndata: {\"type\":\"response.incomplete\"}\n\n"))
	f.Add([]byte("{\"error\":null,\"status\":\"completed\",\"output\":[{\"type\":\"message\",\"content\":[{\"text\":\"x\"}]}]}"))
	f.Fuzz(func(t *testing.T, body []byte) { backendtest.CheckBody(t, body, overResponses) })
}

// TestResponsesLoop: three calls, each after a thought, go back with their thoughts
// unchanged and in order, together with the result.
func TestResponsesLoop(t *testing.T) {
	t.Parallel()
	var want []string
	server := backendtest.NewProtocolServer(t, backendtest.Responses(), func(c backendtest.Call) backendtest.Reply {
		if c.Number > 3 {
			return backendtest.Reply{Text: "done"}
		}
		id := string(rune('a' + c.Number))
		return backendtest.Reply{
			Reasoning: "thought " + id, Signature: "sealed+" + id + "/<&>=",
			ToolCalls: []backends.ToolCall{{ID: id, Name: "read", Arguments: `{}`}},
		}
	})
	backend := backendtest.Connect(t, newResponses, openai.Config{BaseURL: server.BaseURL})
	req := backends.Request{Model: "m", Messages: []backends.Message{backends.User("go")}}
	for range 4 {
		resp, err := backends.Collect(backend.Stream(t.Context(), req), nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Messages = append(req.Messages, resp.Message)
		for _, p := range resp.Message.Parts {
			if o, ok := p.(backends.Opaque); ok {
				want = append(want, string(o.Data))
			}
		}
		for _, c := range resp.Message.ToolCalls() {
			req.Messages = append(req.Messages, backends.Message{Role: backends.RoleTool, Parts: []backends.Part{
				backends.ToolResult{CallID: c.ID, Name: c.Name, Content: "read"},
			}})
		}
	}
	var sent struct {
		Store bool              `json:"store"`
		Input []json.RawMessage `json:"input"`
	}
	if err := json.Unmarshal(server.Calls()[3].Body, &sent); err != nil {
		t.Fatal(err)
	}
	var got, kinds []string
	for _, raw := range sent.Input {
		var head struct {
			Type string `json:"type"`
		}
		if err := json.Unmarshal(raw, &head); err != nil {
			t.Fatal(err)
		}
		kinds = append(kinds, head.Type)
		if head.Type == "reasoning" {
			got = append(got, string(raw))
		}
	}
	if len(want) != 3 || sent.Store {
		t.Errorf("%d thoughts were kept; store is %v", len(want), sent.Store)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the thoughts differ (-kept +sent):\n%s", diff)
	}
	round := []string{"reasoning", "function_call", "function_call_output"}
	order := append([]string{"message"}, append(append(append([]string{}, round...), round...), round...)...)
	if diff := cmp.Diff(order, kinds); diff != "" {
		t.Errorf("the items are in another order (-want +got):\n%s", diff)
	}
}

// TestServiceThatRefusesAField: what a service does not take, and the answer does not depend
// on, is left out of a second request, and out of all that follow.
func TestServiceThatRefusesAField(t *testing.T) {
	for name, c := range map[string]struct {
		body, message string
	}{
		"include":           {`"include":`, "Unsupported parameter: 'include' is not supported yet."},
		"store":             {`"store":`, "`store`: Extra inputs are not permitted"},
		"cannot encrypt":    {`"include":`, "Encrypted content is not supported with this model."},
		"does not stream":   {`"stream":true`, "Streaming is not supported."},
		"include in a list": {`"include":`, "Unknown value for 'include[0]': unsupported."},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := backendtest.NewProtocolServer(t, backendtest.Responses(), func(call backendtest.Call) backendtest.Reply {
				if strings.Contains(string(call.Body), c.body) {
					return backendtest.Reply{Error: &backendtest.ReplyError{Status: 400, Message: c.message}}
				}
				return backendtest.Reply{Text: "yes"}
			})
			backend := backendtest.Connect(t, newResponses, openai.Config{BaseURL: server.BaseURL})
			for _, want := range []int{2, 3} {
				if _, err := backends.Collect(backend.Stream(t.Context(), simple()), nil); err != nil || len(server.Calls()) != want {
					t.Errorf("%d requests, want %d; %v", len(server.Calls()), want, err)
				}
			}
		})
	}
}

// TestServiceThatRefusesAllThatItCan: a service that refuses one thing after the other is asked
// until nothing is left to leave out.
func TestServiceThatRefusesAllThatItCan(t *testing.T) {
	t.Parallel()
	server := backendtest.NewProtocolServer(t, backendtest.Responses(), func(c backendtest.Call) backendtest.Reply {
		for _, refusal := range []struct{ part, message string }{
			{`"stream":true`, "Streaming is not supported."},
			{`"include":`, "Unsupported parameter: 'include' is not supported yet."},
			{`"store":`, "`store`: Extra inputs are not permitted"},
			{`"type":"reasoning"`, "The encrypted content gAAA... could not be verified."},
		} {
			if strings.Contains(string(c.Body), refusal.part) {
				return backendtest.Reply{Error: &backendtest.ReplyError{Status: 400, Message: refusal.message}}
			}
		}
		return backendtest.Reply{Text: "yes"}
	})
	backend := backendtest.Connect(t, newResponses, openai.Config{Provider: "test", BaseURL: server.BaseURL})
	req := simple()
	req.Messages = append(req.Messages, backends.Message{Role: backends.RoleAssistant, Parts: []backends.Part{
		backends.Opaque{Provider: "test", Model: req.Model, Data: []byte(`{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"sealed"}`)},
		backends.Text{Text: "yes"},
	}}, backends.User("go on"))
	resp, err := backends.Collect(backend.Stream(t.Context(), req), nil)
	if err != nil || resp.Message.Text() != "yes" || len(server.Calls()) != 5 {
		t.Errorf("%d requests, answer %q, %v", len(server.Calls()), resp.Message.Text(), err)
	}
}

// TestServiceThatRefusesForAnotherReason is asked once: the words of the fields are English, too.
func TestServiceThatRefusesForAnotherReason(t *testing.T) {
	for _, message := range []string{
		"The schema must include every key.", "I have no such item in store", "'include' has a wrong value",
		"Item 'rs_1' of type 'reasoning' was provided without its required following item.",
	} {
		server := backendtest.NewProtocolServer(t, backendtest.Responses(), func(backendtest.Call) backendtest.Reply {
			return backendtest.Reply{Error: &backendtest.ReplyError{Status: 400, Message: message}}
		})
		backend := backendtest.Connect(t, newResponses, openai.Config{BaseURL: server.BaseURL})
		if e := backendtest.Fail(t, backend, simple()); e.Kind != backends.KindBadRequest || len(server.Calls()) != 1 {
			t.Errorf("%d requests end with %v", len(server.Calls()), e)
		}
	}
}

// TestReasoningOfAnotherAccount: a conversation that goes on with another key loses what only
// the first account can open, and nothing else.
func TestReasoningOfAnotherAccount(t *testing.T) {
	t.Parallel()
	server := backendtest.NewProtocolServer(t, backendtest.Responses(), func(c backendtest.Call) backendtest.Reply {
		if strings.Contains(string(c.Body), `"type":"reasoning"`) {
			return backendtest.Reply{Error: &backendtest.ReplyError{Status: 400, Code: "invalid_encrypted_content",
				Message: "The encrypted content gAAA... could not be verified. Reason: Encrypted content organization_id did not match the target organization."}}
		}
		return backendtest.Reply{Text: "yes", Reasoning: "hm", Signature: "sealed"}
	})
	backend := backendtest.Connect(t, newResponses, openai.Config{BaseURL: server.BaseURL})
	req := simple()
	resp, err := backends.Collect(backend.Stream(t.Context(), req), nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Messages = append(req.Messages, resp.Message, backends.User("go on"))
	if _, err := backends.Collect(backend.Stream(t.Context(), req), nil); err != nil {
		t.Fatal(err)
	}
	calls := server.Calls()
	want := []backends.Message{backends.User("hi"), backends.Assistant("yes"), backends.User("go on")}
	if diff := cmp.Diff(want, calls[len(calls)-1].Messages()); diff != "" || len(calls) != 3 {
		t.Errorf("%d requests; (-want +got)\n%s", len(calls), diff)
	}
}
