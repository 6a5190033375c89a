package anthropic_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/backends/anthropic"
)

func TestListModels(t *testing.T) {
	body, status := `{"data":[{"type":"model","id":"claude-opus-5","display_name":"x"},{"id":"claude-haiku-4-5"}],"has_more":false}`, 200
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.String() != "/v1/models?limit=1000" || r.Header.Get("X-Api-Key") != "secret" || r.Header.Get("Anthropic-Version") == "" {
			t.Errorf("%s %v", r.URL, r.Header)
		}
		w.WriteHeader(status)
		if _, err := io.WriteString(w, body); err != nil {
			t.Error(err)
		}
	}))
	defer server.Close()
	backend := newBackend(t, anthropic.Config{BaseURL: server.URL, APIKey: "secret"})
	got, err := backend.ListModels(t.Context())
	if diff := cmp.Diff([]string{"claude-opus-5", "claude-haiku-4-5"}, got); diff != "" || err != nil {
		t.Error(diff, err)
	}
	body = "<html>"
	if _, err := backend.ListModels(t.Context()); backends.KindOf(err) != backends.KindBadRequest {
		t.Errorf("a page gives %v", err)
	}
	body, status = `{"error":{"type":"authentication_error","message":"invalid x-api-key"}}`, 401
	if _, err := backend.ListModels(t.Context()); backends.KindOf(err) != backends.KindAuth {
		t.Errorf("a wrong key gives %v", err)
	}
}
