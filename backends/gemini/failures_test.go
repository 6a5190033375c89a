package gemini_test

import (
	"errors"
	"fmt"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/backends/gemini"
	"github.com/massgen/massgen/tests/backendtest"
)

func simple() backends.Request {
	return backends.Request{Model: "m", Messages: []backends.Message{backends.User("hi")}}
}

func neverSent(t *testing.T) http.RoundTripper {
	return backendtest.RoundTripper(func(*http.Request) (*http.Response, error) {
		t.Error("it was sent")
		return nil, errors.New("sent")
	})
}

// TestWhereItAsks looks at the URL and the headers of a request.
func TestWhereItAsks(t *testing.T) {
	t.Setenv("GEMINI_API_KEY", "not-for-you")
	t.Setenv("GOOGLE_GEMINI_BASE_URL", "http://elsewhere.invalid")
	t.Setenv("GOOGLE_GENAI_USE_VERTEXAI", "true")
	for _, c := range []struct{ baseURL, key, model, wantURL, wantKey string }{
		{"", "k1", "gemini-3-pro", "https://generativelanguage.googleapis.com/v1beta/models/gemini-3-pro:streamGenerateContent?alt=sse", "k1"},
		{"http://host/v1beta/", "", "models/m", "http://host/v1beta/models/m:streamGenerateContent?alt=sse", "none"},
		{"http://host/a?tenant=t", "", "tunedModels/m", "http://host/a/v1beta/tunedModels/m:streamGenerateContent?alt=sse&tenant=t", "none"},
	} {
		var got []string
		backend := newBackend(t, gemini.Config{
			BaseURL: c.baseURL, APIKey: c.key,
			Transport: backendtest.RoundTripper(func(r *http.Request) (*http.Response, error) {
				got = append(got, r.Method, r.URL.String(), r.Header.Get("X-Goog-Api-Key"), r.Header.Get("Content-Type"))
				return nil, errors.New("no network")
			}),
		})
		req := simple()
		req.Model = c.model
		if e := backendtest.Fail(t, backend, req); e.Provider != "gemini" || e.Kind != backends.KindNetwork {
			t.Errorf("%+v", e)
		}
		if diff := cmp.Diff([]string{"POST", c.wantURL, c.wantKey, "application/json"}, got); diff != "" {
			t.Error(diff)
		}
	}
}

// TestAnswerIsNotResumed: the library would ask for more of an answer that says how.
func TestAnswerIsNotResumed(t *testing.T) {
	const more = `data: {"candidates":[{"content":{"parts":[{"text":"a"}]},"continuationToken":"QQ=="%s}]}` + "\n\n"
	for name, raw := range map[string]string{
		"resumable":   fmt.Sprintf(more, ""),
		"interrupted": fmt.Sprintf(more, `,"finishReason":"CONTINUATION"`),
	} {
		server := backendtest.NewProtocolServer(t, backendtest.GenerateContent(), func(backendtest.Call) backendtest.Reply {
			return backendtest.Reply{Raw: raw}
		})
		backend := newBackend(t, gemini.Config{BaseURL: server.BaseURL})
		resp, err := backends.Collect(backend.Stream(t.Context(), simple()), nil)
		if calls := len(server.Calls()); calls != 1 {
			t.Errorf("%s: %d requests", name, calls)
		}
		if finished := name == "interrupted"; (err == nil) != finished || finished && resp.Finish != "CONTINUATION" {
			t.Errorf("%s: %+v %v", name, resp, err)
		}
	}
}

// TestSilenceAfterAnEarlyFinishReason: the content may come after it, within the limit of
// silence.
func TestSilenceAfterAnEarlyFinishReason(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := backendtest.NewProtocolPipeServer(t, backendtest.GenerateContent(), func(backendtest.Call) backendtest.Reply {
			return backendtest.Reply{Raw: `data: {"candidates":[{"finishReason":"STOP"}]}` + "\n\n", Fault: backendtest.HangMidStream}
		})
		backend := newBackend(t, gemini.Config{BaseURL: server.BaseURL, Transport: server.Transport()})
		start := time.Now()
		if _, err := backends.Collect(backend.Stream(t.Context(), simple()), nil); err != nil {
			t.Error(err)
		}
		if passed := time.Since(start); passed != time.Minute {
			t.Errorf("it took %s, want a minute", passed)
		}
	})
}
