package gemini_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/backends/gemini"
)

func TestListModels(t *testing.T) {
	body, status := `{"models":[{"name":"models/gemini-3-pro","supportedGenerationMethods":["generateContent","countTokens"]},{"name":"models/embedding","supportedGenerationMethods":["embedContent"]}]}`, 200
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.String() != "/v1beta/models?pageSize=1000" || r.Header.Get("X-Goog-Api-Key") != "secret" {
			t.Errorf("%s %v", r.URL, r.Header)
		}
		w.WriteHeader(status)
		if _, err := io.WriteString(w, body); err != nil {
			t.Error(err)
		}
	}))
	defer server.Close()
	backend := newBackend(t, gemini.Config{BaseURL: server.URL, APIKey: "secret"})
	got, err := backend.ListModels(t.Context())
	if diff := cmp.Diff([]string{"gemini-3-pro"}, got); diff != "" || err != nil {
		t.Error(diff, err)
	}
	body = "<html>"
	if _, err := backend.ListModels(t.Context()); backends.KindOf(err) != backends.KindBadRequest {
		t.Errorf("a page gives %v", err)
	}
	body, status = `{"error":{"code":401,"message":"API key not valid","status":"UNAUTHENTICATED"}}`, 401
	if _, err := backend.ListModels(t.Context()); backends.KindOf(err) != backends.KindAuth {
		t.Errorf("a wrong key gives %v", err)
	}
}
