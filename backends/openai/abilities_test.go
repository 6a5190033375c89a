package openai_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sync/errgroup"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/backends/openai"
	"github.com/massgen/massgen/tests/backendtest"
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
	e := backendtest.Fail(t, newBackend(t, openai.Config{BaseURL: server.BaseURL}), simple())
	if e.Kind != backends.KindBadRequest || len(server.Calls()) != 2 {
		t.Errorf("%d calls give %v", len(server.Calls()), e)
	}
}

// TestServiceThatCannotStreamIsRemembered: the refusal costs one request for each
// model, however many calls there are.
func TestServiceThatCannotStreamIsRemembered(t *testing.T) {
	server := backendtest.NewServer(t, func(c backendtest.Call) backendtest.Reply {
		if len(c.ToolNames()) == 0 {
			return backendtest.Reply{Text: "streamed"}
		}
		return streamless(c)
	})
	backend := newBackend(t, openai.Config{BaseURL: server.BaseURL, Model: "m"})
	requests := 0
	call := func(what string, req backends.Request, want int) {
		t.Helper()
		if _, err := backends.Collect(backend.Stream(t.Context(), req), nil); err != nil {
			t.Errorf("%s: %v", what, err)
		}
		if got := len(server.Calls()) - requests; got != want {
			t.Errorf("%s: %d requests, want %d", what, got, want)
		}
		requests = len(server.Calls())
	}
	withTools := simple()
	withTools.Tools = []backends.Tool{{Name: "vote"}}
	call("the first", withTools, 2)
	call("the second", withTools, 1)
	withTools.Model = ""
	call("the same model by default", withTools, 1)
	call("without tools", simple(), 1)
	if body := string(server.Bodies()[requests-1]); !strings.Contains(body, `"stream":true`) {
		t.Errorf("without tools it is asked for no stream: %s", body)
	}
	withTools.Model = "another"
	call("another model", withTools, 2)
	call("another model again", withTools, 1)
}

// TestCallsAtOnceFindOutThatAServiceCannotStream: of calls that are under way at the
// same time each may have to find out, and none after them.
func TestCallsAtOnceFindOutThatAServiceCannotStream(t *testing.T) {
	const calls = 8
	server := backendtest.NewServer(t, streamless)
	backend := newBackend(t, openai.Config{BaseURL: server.BaseURL})
	req := simple()
	req.Tools = []backends.Tool{{Name: "vote"}}
	atOnce := func() {
		var group errgroup.Group
		for range calls {
			group.Go(func() error {
				_, err := backends.Collect(backend.Stream(t.Context(), req), nil)
				return err
			})
		}
		if err := group.Wait(); err != nil {
			t.Error(err)
		}
	}
	atOnce()
	first := len(server.Calls())
	atOnce()
	if later := len(server.Calls()) - first; first <= calls || first > 2*calls || later != calls {
		t.Errorf("%d calls took %d requests, and then %d", calls, first, later)
	}
}

func TestServiceWithoutTools(t *testing.T) {
	server := backendtest.NewServer(t, func(backendtest.Call) backendtest.Reply {
		return backendtest.Reply{Error: &backendtest.ReplyError{Status: 400, Message: "registry.ollama.ai/library/x does not support tools"}}
	})
	req := simple()
	req.Tools = []backends.Tool{{Name: "vote"}}
	e := backendtest.Fail(t, newBackend(t, openai.Config{BaseURL: server.BaseURL}), req)
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
