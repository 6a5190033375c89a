package anthropic_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/backends/anthropic"
	"github.com/massgen/massgen/backends/backendtest"
)

func simple() backends.Request {
	return backends.Request{Model: "m", Messages: []backends.Message{backends.User("hi")}}
}

func failure(t *testing.T, backend *anthropic.Backend, req backends.Request) *backends.Error {
	t.Helper()
	_, err := backends.Collect(backend.Stream(t.Context(), req), nil)
	var e *backends.Error
	if !errors.As(err, &e) {
		t.Fatalf("the call ended with %v, not with a *backends.Error", err)
	}
	return e
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

// TestOneCallIsOneAttempt: the library's own retries are off.
func TestOneCallIsOneAttempt(t *testing.T) {
	for _, reply := range []backendtest.Reply{
		{Error: &backendtest.ReplyError{Status: 529, Message: "Overloaded"}},
		{Error: &backendtest.ReplyError{Status: 429, Message: "slow", Header: http.Header{"X-Should-Retry": {"true"}}}},
		{Fault: backendtest.Reset},
	} {
		server := backendtest.NewProtocolServer(t, backendtest.Messages(), func(backendtest.Call) backendtest.Reply { return reply })
		failure(t, newBackend(t, anthropic.Config{BaseURL: server.BaseURL}), simple())
		if n := len(server.Calls()); n != 1 {
			t.Errorf("%+v costs %d requests", reply, n)
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
		backend := newBackend(t, anthropic.Config{BaseURL: base, Transport: roundTripFunc(func(r *http.Request) (*http.Response, error) {
			got = r.URL.String()
			return nil, errors.New("no network")
		})})
		if e := failure(t, backend, simple()); e.Kind != backends.KindNetwork || e.Message != "no network" {
			t.Errorf("%+v", e)
		}
		if got != want {
			t.Errorf("%q leads to %s, want %s", base, got, want)
		}
	}
	if _, err := anthropic.New(anthropic.Config{BaseURL: "host/v1"}); err == nil {
		t.Error("a base URL without a scheme is taken")
	}
}

type roundTripFunc func(*http.Request) (*http.Response, error)

func (f roundTripFunc) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestSecretsAreNotShown(t *testing.T) {
	echo := func(w http.ResponseWriter, r *http.Request) {
		user, password, _ := r.BasicAuth()
		http.Error(w, strings.Join([]string{r.Header.Get("X-Api-Key"), user, password, r.Header.Get("X-Other-Token")}, " "), http.StatusBadRequest)
	}
	server := httptest.NewServer(http.HandlerFunc(echo))
	t.Cleanup(server.Close)
	backend := newBackend(t, anthropic.Config{
		BaseURL: strings.Replace(server.URL, "://", "://me:pass%20word@", 1),
		APIKey:  "sk-key-123",
	})
	req := simple()
	req.Params.Headers = map[string]string{"X-Other-Token": "tok-1"}
	e := failure(t, backend, req)
	if e.Message != "*** me *** ***" {
		t.Errorf("the error shows %q", e.Message)
	}
	if e.Err != nil {
		t.Errorf("the cause is %v", e.Err)
	}
}

const finished = `data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"x"}}` + "\n\n" + wholeAnswer

// TestCancelBeforeTheEndMark: an answer that was cancelled is none, though all of it
// may have come.
func TestCancelBeforeTheEndMark(t *testing.T) {
	server := backendtest.NewProtocolServer(t, backendtest.Messages(), func(backendtest.Call) backendtest.Reply {
		return backendtest.Reply{Raw: finished, Fault: backendtest.HangMidStream}
	})
	backend := newBackend(t, anthropic.Config{BaseURL: server.BaseURL})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	_, err := backends.Collect(backend.Stream(ctx, simple()), func(backends.Event) { cancel() })
	if backends.KindOf(err) != backends.KindCancelled {
		t.Errorf("the call ended with %v", err)
	}
}

// TestLimitsOfTime takes the default limits in a bubble where time is free.
func TestLimitsOfTime(t *testing.T) {
	for _, c := range []struct {
		name  string
		reply backendtest.Reply
		after time.Duration
		want  string
	}{
		{"nothing", backendtest.Reply{Fault: backendtest.HangBefore}, 120 * time.Second, "no first byte of an answer within 2m0s"},
		{"half an answer", backendtest.Reply{Text: "ab", Fault: backendtest.HangMidStream}, 60 * time.Second, "no more of the answer within 1m0s"},
		{"no end mark", backendtest.Reply{Raw: finished, Fault: backendtest.HangMidStream}, 5 * time.Second, ""},
		{"an open connection", backendtest.Reply{Raw: finished + "data: {\"type\":\"message_stop\"}\n\n", Fault: backendtest.HangMidStream}, 50 * time.Millisecond, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := backendtest.NewProtocolPipeServer(t, backendtest.Messages(), func(backendtest.Call) backendtest.Reply { return c.reply })
				backend := newBackend(t, anthropic.Config{BaseURL: server.BaseURL, Transport: server.Transport()})
				start := time.Now()
				_, err := backends.Collect(backend.Stream(t.Context(), simple()), nil)
				if passed := time.Since(start); passed != c.after {
					t.Errorf("it took %s, want %s", passed, c.after)
				}
				var e *backends.Error
				if c.want == "" && err != nil || c.want != "" && (!errors.As(err, &e) || e.Kind != backends.KindTimeout || e.Message != c.want) {
					t.Errorf("the call ended with %v, want %q", err, c.want)
				}
			})
		})
	}
}

func TestConnectionIsUsedAgain(t *testing.T) {
	backendtest.RunReuse(t, backendtest.Messages(), func(t testing.TB, baseURL string, transport http.RoundTripper) backends.Backend {
		return newBackend(t, anthropic.Config{BaseURL: baseURL, Transport: transport})
	})
}

func TestRequestThatCannotBeMade(t *testing.T) {
	backend := newBackend(t, anthropic.Config{Transport: roundTripFunc(func(*http.Request) (*http.Response, error) {
		t.Error("it was sent")
		return nil, errors.New("sent")
	})})
	for name, change := range map[string]func(*backends.Request){
		"schema":     func(r *backends.Request) { r.Tools = []backends.Tool{{Name: "t", Schema: []byte("{")}} },
		"extra body": func(r *backends.Request) { r.Params.ExtraBody = map[string]any{"f": func() {}} },
		"opaque": func(r *backends.Request) {
			r.Messages = []backends.Message{{Role: backends.RoleAssistant, Parts: []backends.Part{
				backends.Opaque{Provider: "anthropic", Model: "m", Data: []byte("{")},
			}}}
		},
	} {
		req := simple()
		change(&req)
		if e := failure(t, backend, req); e.Kind != backends.KindBadRequest || e.Message == "" {
			t.Errorf("%s: %+v", name, e)
		}
	}
}
