package openai_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/backends/backendtest"
	"github.com/massgen/massgen/backends/openai"
)

// streamless answers only calls that ask for no stream.
func streamless(c backendtest.Call) backendtest.Reply {
	if strings.Contains(string(c.Body), `"stream":true`) {
		return backendtest.Reply{Error: &backendtest.ReplyError{Status: 500, Message: "Cannot use tools with stream"}}
	}
	return backendtest.Reply{
		Text: "now", ToolCalls: []backends.ToolCall{{ID: "a", Name: "vote", Arguments: `{"agent_id":"agent1"}`}},
		Usage: &backends.Usage{InputTokens: 3, OutputTokens: 2},
	}
}

func TestServiceThatCannotStreamIsAskedWithout(t *testing.T) {
	server := backendtest.NewServer(t, streamless)
	backend := newBackend(t, openai.Config{BaseURL: server.BaseURL})
	var traced []string
	ctx := backends.WithTrace(t.Context(), &backends.Trace{RequestBody: func(b []byte) { traced = append(traced, string(b)) }})
	req := simple()
	req.Tools = []backends.Tool{{Name: "vote"}}
	resp, err := backends.Collect(backend.Stream(ctx, req), nil)
	if err != nil {
		t.Fatal(err)
	}
	want := backends.Response{
		Message: backends.Message{Role: backends.RoleAssistant, Parts: []backends.Part{
			backends.Text{Text: "now"}, backends.ToolCall{ID: "a", Name: "vote", Arguments: `{"agent_id":"agent1"}`},
		}},
		Usage:  &backends.Usage{InputTokens: 3, OutputTokens: 2},
		Finish: "tool_calls",
	}
	if diff := cmp.Diff(want, resp); diff != "" {
		t.Error(diff)
	}
	const head = `{"messages":[{"role":"user","content":"hi"}],"model":"m",`
	const tail = `"tools":[{"type":"function","function":{"name":"vote","parameters":{"type":"object","properties":{}}}}]}`
	bodies := []string{
		head + `"stream":true,"stream_options":{"include_usage":true},` + tail,
		head + `"stream":false,` + tail,
	}
	if diff := cmp.Diff(bodies, traced); diff != "" {
		t.Error(diff)
	}
}

func TestServiceThatCannotStreamIsAskedOnlyOnceMore(t *testing.T) {
	server := backendtest.NewServer(t, func(backendtest.Call) backendtest.Reply {
		return backendtest.Reply{Error: &backendtest.ReplyError{Status: 400, Message: "Streaming is not supported."}}
	})
	e := failure(t, newBackend(t, openai.Config{BaseURL: server.BaseURL}), simple())
	if e.Kind != backends.KindBadRequest || len(server.Calls()) != 2 {
		t.Errorf("%d calls give %v", len(server.Calls()), e)
	}
}

func TestServiceWithoutTools(t *testing.T) {
	server := backendtest.NewServer(t, func(backendtest.Call) backendtest.Reply {
		return backendtest.Reply{Error: &backendtest.ReplyError{Status: 400, Message: "registry.ollama.ai/library/x does not support tools"}}
	})
	req := simple()
	req.Tools = []backends.Tool{{Name: "vote"}}
	e := failure(t, newBackend(t, openai.Config{BaseURL: server.BaseURL}), req)
	if !e.NoTools || e.Kind != backends.KindBadRequest || len(server.Calls()) != 1 {
		t.Errorf("%d calls give %+v", len(server.Calls()), e)
	}
}

func TestSchemaOfTheReply(t *testing.T) {
	server := backendtest.NewServer(t, func(backendtest.Call) backendtest.Reply { return backendtest.Reply{Text: "{}"} })
	backend := newBackend(t, openai.Config{BaseURL: server.BaseURL})
	req := simple()
	req.Schema = json.RawMessage(`{"type":"object","properties":{"z":{},"a":{"enum":["<b>"]}}}`)
	if _, err := backends.Collect(backend.Stream(t.Context(), req), nil); err != nil {
		t.Fatal(err)
	}
	const want = `{"messages":[{"role":"user","content":"hi"}],"model":"m",` +
		`"response_format":{"type":"json_schema","json_schema":{"name":"action","strict":true,` +
		`"schema":{"type":"object","properties":{"z":{},"a":{"enum":["<b>"]}}}}},` +
		`"stream":true,"stream_options":{"include_usage":true}}`
	if diff := cmp.Diff(want, string(server.Bodies()[0])); diff != "" {
		t.Error(diff)
	}
}
