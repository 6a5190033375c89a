package openai_test

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/backends/backendtest"
	"github.com/massgen/massgen/backends/openai"
)

func newResponses(cfg openai.Config) (*openai.Backend, error) {
	return openai.NewDialect(cfg, openai.Dialect{API: openai.ResponsesAPI, ThinkTags: true})
}

func TestResponsesConformance(t *testing.T) {
	t.Parallel()
	backendtest.RunAdapter(t, backendtest.Responses(), newResponses)
}

func overResponses(t testing.TB, transport http.RoundTripper) backends.Backend {
	return newDialect(t, openai.Dialect{API: openai.ResponsesAPI, ThinkTags: true}, openai.Config{Provider: "test", Transport: transport})
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
