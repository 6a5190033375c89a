package openai_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/backends/backendtest"
	"github.com/massgen/massgen/backends/openai"
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
	const want = `{"messages":[{"role":"system","content":"<a> & \\u003c"},{"content":"","role":"user"}],` +
		`"model":"m","stream":true,"stream_options":{"include_usage":true},"temperature":0}`
	if diff := cmp.Diff(want, string(traced)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(string(traced), string(server.Bodies()[0])); diff != "" {
		t.Error(diff)
	}
}

func newBackend(t *testing.T, cfg openai.Config) *openai.Backend {
	t.Helper()
	backend, err := openai.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := backend.Close(); err != nil {
			t.Error(err)
		}
	})
	return backend
}
