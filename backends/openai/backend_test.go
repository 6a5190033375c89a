package openai_test

import (
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/backends/openai"
	"github.com/massgen/massgen/tests/backendtest"
)

func TestListModels(t *testing.T) {
	server := backendtest.NewServer(t, nil)
	server.SetModels("small", "large")
	backend := newBackend(t, openai.Config{BaseURL: server.BaseURL})
	got, err := backend.ListModels(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	want := []openai.Model{{ID: "small", OwnedBy: "backendtest"}, {ID: "large", OwnedBy: "backendtest"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestNoListOfModels(t *testing.T) {
	for name, body := range map[string]string{"page": "<html>", "number": "1", "nothing": ""} {
		backend := newBackend(t, openai.Config{Transport: backendtest.Canned{
			Status: 200, Body: func() io.Reader { return strings.NewReader(body) },
		}})
		models, err := backend.ListModels(t.Context())
		if len(models) > 0 || backends.KindOf(err) != backends.KindBadRequest {
			t.Errorf("%s gives %v %v", name, models, err)
		}
	}
}

// TestNothingToSend: of an assistant message with only reasoning nothing is left.
func TestNothingToSend(t *testing.T) {
	server := backendtest.NewServer(t, func(backendtest.Call) backendtest.Reply { return backendtest.Reply{Text: "x"} })
	backend := newBackend(t, openai.Config{BaseURL: server.BaseURL, Model: "default"})
	_, err := backends.Collect(backend.Stream(t.Context(), backends.Request{Messages: []backends.Message{
		backends.User("a"),
		{Role: backends.RoleAssistant, Parts: []backends.Part{backends.Reasoning{Text: "hm"}}},
		backends.User("b"),
	}}), nil)
	if err != nil {
		t.Fatal(err)
	}
	call := server.Calls()[0]
	if diff := cmp.Diff([]backends.Message{backends.User("a"), backends.User("b")}, call.Messages()); diff != "" {
		t.Error(diff)
	}
	if call.Model() != "default" {
		t.Errorf("the model is %q", call.Model())
	}
}

func TestBodyIsTheOneThatIsTraced(t *testing.T) {
	server := backendtest.NewServer(t, func(backendtest.Call) backendtest.Reply {
		return backendtest.Reply{Text: "hello"}
	})
	backend := newBackend(t, openai.Config{BaseURL: server.BaseURL})
	var traced []byte
	ctx := backends.WithTrace(t.Context(), &backends.Trace{RequestBody: func(b []byte) { traced = append(traced, b...) }})
	zero := 0.0
	_, err := backends.Collect(backend.Stream(ctx, backends.Request{
		Model:    "m",
		Messages: []backends.Message{backends.System("<a> & \\u003c"), backends.User("")},
		Params:   backends.Params{Temperature: &zero},
	}), nil)
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"messages":[{"role":"system","content":"<a> & \\u003c"},{"role":"user","content":""}],` +
		`"model":"m","stream":true,"stream_options":{"include_usage":true},"temperature":0}`
	if diff := cmp.Diff(want, string(traced)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(string(traced), string(server.Bodies()[0])); diff != "" {
		t.Error(diff)
	}
}

func newBackend(t testing.TB, cfg openai.Config) *openai.Backend {
	t.Helper()
	return backendtest.Connect(t, openai.New, cfg)
}

func newDialect(t testing.TB, d openai.Dialect, cfg openai.Config) *openai.Backend {
	t.Helper()
	connect := func(cfg openai.Config) (*openai.Backend, error) { return openai.NewDialect(cfg, d) }
	return backendtest.Connect(t, connect, cfg)
}

// TestSearchWithoutSourcesIsCounted: a chat completion that is to search is billed for the search,
// whatever its answer names.
func TestSearchWithoutSourcesIsCounted(t *testing.T) {
	t.Parallel()
	server := backendtest.NewProtocolServer(t, backendtest.ChatCompletions(), func(backendtest.Call) backendtest.Reply {
		return backendtest.Reply{Text: "yes", Usage: &backends.Usage{InputTokens: 9, OutputTokens: 1}}
	})
	backend := backendtest.Connect(t, func(cfg openai.Config) (*openai.Backend, error) {
		return openai.NewDialect(cfg, openai.OpenAI())
	}, openai.Config{BaseURL: server.BaseURL})
	for _, searches := range []bool{true, false} {
		req := simple()
		req.Model, req.Params.Hosted.WebSearch = "gpt-4o-search-preview", searches
		want := map[bool]int{true: 1}[searches]
		resp, err := backends.Collect(backend.Stream(t.Context(), req), nil)
		if err != nil || resp.Usage == nil || resp.Usage.WebSearches != want {
			t.Errorf("a call that searches (%t) has the usage %+v; %v", searches, resp.Usage, err)
		}
	}
}
