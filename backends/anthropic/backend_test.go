package anthropic_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/backends/anthropic"
	"github.com/massgen/massgen/tests/backendtest"
)

func simple() backends.Request {
	return backends.Request{Model: "m", Messages: []backends.Message{backends.User("hi")}}
}

// TestToolLoopKeepsThinking takes a tool loop through two calls and looks at what
// comes back of the thinking blocks: all, in order, byte for byte.
func TestToolLoopKeepsThinking(t *testing.T) {
	stream, err := os.ReadFile(filepath.Join("testdata", "loop.sse"))
	if err != nil {
		t.Fatal(err)
	}
	server := backendtest.NewProtocolServer(t, backendtest.Messages(), func(c backendtest.Call) backendtest.Reply {
		if c.Number == 1 {
			return backendtest.Reply{Raw: string(stream)}
		}
		return backendtest.Reply{Text: "done"}
	})
	req := simple()
	for _, model := range []string{"claude-opus-4-6", "claude-opus-4-6", "claude-sonnet-4-6"} {
		req.Model = model
		resp, err := backends.Collect(newBackend(t, anthropic.Config{BaseURL: server.BaseURL}).Stream(t.Context(), req), nil)
		if err != nil {
			t.Fatal(err)
		}
		if calls := resp.Message.ToolCalls(); len(calls) > 0 {
			stored, err := json.Marshal(resp.Message)
			if err != nil {
				t.Fatal(err)
			}
			var message backends.Message
			if err := json.Unmarshal(stored, &message); err != nil {
				t.Fatal(err)
			}
			req.Messages = append(req.Messages, message, backends.Message{Role: backends.RoleTool, Parts: []backends.Part{
				backends.ToolResult{CallID: calls[0].ID, Name: calls[0].Name, Content: "A"},
			}})
		}
	}
	const call = `{"id":"toolu_1","input":{"path":"a.txt"},"name":"read","type":"tool_use"}`
	const thinking = `{"signature":"EqQB+/8=","thinking":"<First> I read \"a.txt\".\n","type":"thinking"},` +
		`{"data":"EmwK+/8=","type":"redacted_thinking"},{"signature":"b25seQ==","thinking":"","type":"thinking"},`
	for number, want := range map[int]string{
		2: `"content":[` + thinking + call + `]`,
		3: `"content":[` + call + `]`, // another model gets nothing of it
	} {
		if body := string(server.Bodies()[number-1]); !strings.Contains(body, want) {
			t.Errorf("call %d sent\n%s\nwithout\n%s", number, body, want)
		}
	}
}

// TestCitationOfAnEarlierPage: a page that an earlier call fetched is cited by its title, and has its
// address.
func TestCitationOfAnEarlierPage(t *testing.T) {
	t.Parallel()
	server := backendtest.NewProtocolServer(t, backendtest.Messages(), func(backendtest.Call) backendtest.Reply {
		return backendtest.Reply{Raw: `data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}

data: {"type":"content_block_delta","index":0,"delta":{"type":"citations_delta","citation":{"type":"char_location","cited_text":"The moon pulls.","document_index":0,"document_title":"Tides"}}}

data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"The moon."}}

data: {"type":"content_block_stop","index":0}

data: {"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":3}}

data: {"type":"message_stop"}

`}
	})
	req := simple()
	req.Model, req.Params.Hosted.WebFetch = "claude-opus-4-6", true
	fetched := func(provider, data string) backends.Part {
		return backends.Opaque{Provider: provider, Model: req.Model, Data: []byte(data)}
	}
	req.Messages = append(req.Messages, backends.Message{Role: backends.RoleAssistant, Parts: []backends.Part{
		fetched("test", `{"type":"server_tool_use","id":"s1","name":"web_fetch","input":{"url":"https://tides.example/a"}}`),
		fetched("test", `{"type":"web_fetch_tool_result","tool_use_id":"s1","content":{"type":"web_fetch_result","url":"https://tides.example/a","content":{"type":"document","title":"Tides"}}}`),
		fetched("other", `{"type":"web_fetch_tool_result","content":{"url":"https://other.example/","content":{"title":"Tides"}}}`),
	}}, backends.User("And?"))
	resp, err := backends.Collect(newBackend(t, anthropic.Config{Provider: "test", BaseURL: server.BaseURL}).Stream(t.Context(), req), nil)
	if err != nil {
		t.Fatal(err)
	}
	want := []backends.Citation{{URL: "https://tides.example/a", Title: "Tides", Text: "The moon pulls."}}
	if got := resp.Message.Citations(); !slices.Equal(got, want) {
		t.Errorf("the citations are %+v, want %+v", got, want)
	}
}

// TestEnvironmentIsIgnored: the library would take keys, addresses and headers from
// there, and send them to whatever service the config names.
func TestEnvironmentIsIgnored(t *testing.T) {
	t.Setenv("ANTHROPIC_API_KEY", "sk-of-the-environment")
	t.Setenv("ANTHROPIC_AUTH_TOKEN", "token-of-the-environment")
	t.Setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:1")
	t.Setenv("ANTHROPIC_CUSTOM_HEADERS", "X-Custom: of-the-environment")
	server := backendtest.NewProtocolServer(t, backendtest.Messages(), func(backendtest.Call) backendtest.Reply { return backendtest.Reply{Text: "x"} })
	for _, key := range []string{"", "sk-of-the-config"} {
		backend := newBackend(t, anthropic.Config{BaseURL: server.BaseURL, APIKey: key})
		if _, err := backends.Collect(backend.Stream(t.Context(), simple()), nil); err != nil {
			t.Fatal(err)
		}
		header := server.Calls()[len(server.Calls())-1].Header
		if _, sent := header["X-Api-Key"]; sent != (key != "") || header.Get("X-Api-Key") != key {
			t.Errorf("the key is %q, want %q", header["X-Api-Key"], key)
		}
		if shown := fmt.Sprint(header); strings.Contains(shown, "of-the-environment") {
			t.Errorf("the headers are %s", shown)
		}
		if got := header.Get("Anthropic-Version"); got != "2023-06-01" {
			t.Errorf("the version is %q", got)
		}
	}
}

func TestBaseURL(t *testing.T) {
	for base, want := range map[string]string{
		"":                                  "https://api.anthropic.com/v1/messages",
		"https://host":                      "https://host/v1/messages",
		"https://host/":                     "https://host/v1/messages",
		"https://host/v1":                   "https://host/v1/messages",
		"https://host/v1/messages":          "https://host/v1/messages",
		"https://host/anthropic":            "https://host/anthropic/v1/messages",
		"https://host/anthropic/v1/?a=b%20": "https://host/anthropic/v1/messages?a=b+",
	} {
		var got string
		backend := newBackend(t, anthropic.Config{BaseURL: base, Transport: backendtest.RoundTripper(func(r *http.Request) (*http.Response, error) {
			got = r.URL.String()
			return nil, errors.New("no network")
		})})
		if e := backendtest.Fail(t, backend, simple()); e.Kind != backends.KindNetwork || e.Message != "no network" {
			t.Errorf("%+v", e)
		}
		if got != want {
			t.Errorf("%q leads to %s, want %s", base, got, want)
		}
	}
}

// TestOpaquePartThatIsNoJSON is refused before anything is sent.
func TestOpaquePartThatIsNoJSON(t *testing.T) {
	backend := newBackend(t, anthropic.Config{Transport: backendtest.RoundTripper(func(*http.Request) (*http.Response, error) {
		t.Error("it was sent")
		return nil, errors.New("sent")
	})})
	req := simple()
	req.Messages = []backends.Message{{Role: backends.RoleAssistant, Parts: []backends.Part{
		backends.Opaque{Provider: "anthropic", Model: "m", Data: []byte("{")},
	}}}
	if e := backendtest.Fail(t, backend, req); e.Kind != backends.KindBadRequest || e.Message == "" {
		t.Errorf("%+v", e)
	}
}
