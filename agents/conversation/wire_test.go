package conversation_test

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/massgen/massgen/agents"
	"github.com/massgen/massgen/agents/conversation"
	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/backends/anthropic"
	"github.com/massgen/massgen/backends/gemini"
	"github.com/massgen/massgen/backends/openai"
	"github.com/massgen/massgen/tests/backendtest"
)

// service is a provider on the wire: a model that asks for main.py, and then for
// nothing.
type service struct {
	pattern, path string
	connect       func(baseURL string, transport http.RoundTripper) (backends.Backend, error)
	replies       [2]string
	// messages and tools are fields of the body, and what the second request has in
	// them.
	messages, wantMessages string
	wantTools              string
}

func events(data ...string) string { return "data: " + strings.Join(data, "\n\ndata: ") + "\n\n" }

var services = map[string]service{
	"claude": {
		pattern: "POST /v1/messages",
		connect: func(baseURL string, transport http.RoundTripper) (backends.Backend, error) {
			return anthropic.New(anthropic.Config{BaseURL: baseURL, Transport: transport})
		},
		replies: [2]string{
			events(`{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","content":[]}}`,
				`{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}`,
				`{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"<I read it.>"}}`,
				`{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"EqQB+/8="}}`,
				`{"type":"content_block_stop","index":0}`,
				`{"type":"content_block_start","index":1,"content_block":{"type":"text","text":""}}`,
				`{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"Let me read that file..."}}`,
				`{"type":"content_block_stop","index":1}`,
				`{"type":"content_block_start","index":2,"content_block":{"type":"tool_use","id":"call_123","name":"read_file","input":{}}}`,
				`{"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":"{\"path\": \"main.py\"}"}}`,
				`{"type":"content_block_stop","index":2}`,
				`{"type":"message_delta","delta":{"stop_reason":"tool_use"}}`, `{"type":"message_stop"}`),
			events(`{"type":"message_start","message":{"id":"msg_2","type":"message","role":"assistant","content":[]}}`,
				`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"It prints hello."}}`,
				`{"type":"content_block_stop","index":0}`,
				`{"type":"message_delta","delta":{"stop_reason":"end_turn"}}`, `{"type":"message_stop"}`),
		},
		messages: "messages",
		wantMessages: `[{"role":"user","content":[{"type":"text","text":"Explain main.py"}]},
			{"role":"assistant","content":[
				{"type":"thinking","thinking":"<I read it.>","signature":"EqQB+/8="},
				{"type":"text","text":"Let me read that file..."},
				{"type":"tool_use","id":"call_123","name":"read_file","input":{"path":"main.py"}}]},
			{"role":"user","content":[{"type":"tool_result","tool_use_id":"call_123","content":[{"type":"text","text":"print('hello')"}]}]}]`,
		wantTools: `[{"name":"read_file","description":"Read a file.",
			"input_schema":{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]}}]`,
	},
	"openai": {
		pattern: "POST /v1/chat/completions", path: "/v1",
		connect: func(baseURL string, transport http.RoundTripper) (backends.Backend, error) {
			return openai.New(openai.Config{BaseURL: baseURL, Transport: transport})
		},
		replies: [2]string{
			events(`{"choices":[{"index":0,"delta":{"role":"assistant","content":"Let me read that file..."}}]}`,
				`{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"call_123","type":"function","function":{"name":"read_file","arguments":"{\"path\": "}}]}}]}`,
				`{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"\"main.py\"}"}}]}}]}`,
				`{"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}`, `[DONE]`),
			events(`{"choices":[{"index":0,"delta":{"content":"It prints hello."},"finish_reason":"stop"}]}`, `[DONE]`),
		},
		messages: "messages",
		wantMessages: `[{"role":"user","content":"Explain main.py"},
			{"role":"assistant","content":"Let me read that file...","tool_calls":[
				{"id":"call_123","type":"function","function":{"name":"read_file","arguments":"{\"path\":\"main.py\"}"}}]},
			{"role":"tool","content":"print('hello')","tool_call_id":"call_123"}]`,
		wantTools: `[{"type":"function","function":{"name":"read_file","description":"Read a file.",
			"parameters":{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]}}}]`,
	},
	"gemini": {
		pattern: "POST /v1beta/models/{call}",
		connect: func(baseURL string, transport http.RoundTripper) (backends.Backend, error) {
			return gemini.New(gemini.Config{BaseURL: baseURL, Transport: transport})
		},
		replies: [2]string{
			events(`{"candidates":[{"content":{"role":"model","parts":[{"text":"Let me read that file..."},` +
				`{"functionCall":{"id":"call_123","name":"read_file","args":{"path":"main.py"}},"thoughtSignature":"Zmlyc3Q+Pz8="}]},"finishReason":"STOP"}]}`),
			events(`{"candidates":[{"content":{"role":"model","parts":[{"text":"It prints hello."}]},"finishReason":"STOP"}]}`),
		},
		messages: "contents",
		wantMessages: `[{"role":"user","parts":[{"text":"Explain main.py"}]},
			{"role":"model","parts":[{"text":"Let me read that file..."},
				{"functionCall":{"id":"call_123","name":"read_file","args":{"path":"main.py"}},"thoughtSignature":"Zmlyc3Q+Pz8="}]},
			{"role":"user","parts":[{"functionResponse":{"id":"call_123","name":"read_file","response":{"output":"print('hello')"}}}]}]`,
		wantTools: `[{"functionDeclarations":[{"name":"read_file","description":"Read a file.",
			"parametersJsonSchema":{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]}}]}]`,
	},
}

// readsMain is a tool with the schema that the bodies have.
type readsMain struct{}

func (readsMain) Definition() backends.Tool {
	return backends.Tool{
		Name: "read_file", Description: "Read a file.",
		Schema: []byte(`{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]}`),
	}
}

func (readsMain) Call(context.Context, string) (string, error) { return "print('hello')", nil }

// start starts a server of the service and returns an agent that calls it.
func (s service) start(t *testing.T) (*backendtest.Server, conversation.Agent) {
	t.Helper()
	protocol := backendtest.Protocol{
		Pattern: s.pattern, BasePath: s.path,
		Decode: func(*http.Request, []byte) backends.Request { return backends.Request{} }, // bodies are looked at
	}
	server := backendtest.NewProtocolServer(t, protocol, func(c backendtest.Call) backendtest.Reply {
		return backendtest.Reply{Raw: s.replies[c.Number-1]}
	})
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	backend, err := s.connect(server.BaseURL, transport)
	if err != nil {
		t.Fatal(err)
	}
	return server, conversation.Agent{
		Backend: backend, Model: "gemini-3-pro", Tools: []agents.Tool{readsMain{}},
	}
}

// checkSecond compares the second request with what it should be, cache marks
// sidecall.
func (s service) checkSecond(t *testing.T, server *backendtest.Server) {
	t.Helper()
	var body map[string]any
	if err := json.Unmarshal(server.Bodies()[1], &body); err != nil {
		t.Fatal(err)
	}
	for field, want := range map[string]string{s.messages: s.wantMessages, "tools": s.wantTools} {
		var wanted any
		if err := json.Unmarshal([]byte(want), &wanted); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(wanted, withoutMarks(body[field])); diff != "" {
			t.Errorf("%s (-want +got):\n%s", field, diff)
		}
	}
}

func withoutMarks(v any) any {
	switch v := v.(type) {
	case map[string]any:
		delete(v, "cache_control")
		for _, field := range v {
			withoutMarks(field)
		}
	case []any:
		for _, element := range v {
			withoutMarks(element)
		}
	}
	return v
}

// TestToolsOverTheWire takes a conversation through its JSON between a call and
// its results, to every provider: what comes back to it is what it said,
// signatures and all.
func TestToolsOverTheWire(t *testing.T) {
	t.Parallel()
	for name, s := range services {
		t.Run(name, func(t *testing.T) {
			server, a := s.start(t)
			asked := think(t, a, conversation.Request{Conversation: conversation.Messages{}, Prompt: "Explain main.py", Tools: []string{"read_file"}})
			if len(asked.ToolCalls) != 1 || asked.ToolCalls[0].ID != "call_123" || asked.Content != "Let me read that file..." {
				t.Fatalf("%+v", asked)
			}
			stored, err := json.Marshal(asked.Conversation)
			if err != nil {
				t.Fatal(err)
			}
			loaded, warnings, err := conversation.Parse(stored)
			if err != nil || len(warnings) > 0 {
				t.Fatalf("%v, %q", err, warnings)
			}
			told := think(t, a, conversation.Request{
				Conversation: loaded, Tools: []string{"read_file"},
				ToolResults: []conversation.ToolResult{{ToolUseID: "call_123", Content: "print('hello')"}},
			})
			if told.Content != "It prints hello." || told.HasToolCalls || len(told.Conversation) != 4 {
				t.Errorf("%+v", told)
			}
			s.checkSecond(t, server)
		})
	}
}

// TestLoopOverTheWire sends the same without anybody beside it.
func TestLoopOverTheWire(t *testing.T) {
	t.Parallel()
	for name, s := range services {
		t.Run(name, func(t *testing.T) {
			if name == "openai" { // the arguments go back as the model wrote them
				s.wantMessages = strings.Replace(s.wantMessages, `\"path\":\"`, `\"path\": \"`, 1)
			}
			server, a := s.start(t)
			r := exec(t, a, conversation.Request{Prompt: "Explain main.py", Tools: []string{"read_file"}}, 3)
			if r.Status != conversation.Done || r.Turns != 2 || r.Content != "It prints hello." || len(r.Conversation) != 4 {
				t.Errorf("%+v", r)
			}
			s.checkSecond(t, server)
		})
	}
}
