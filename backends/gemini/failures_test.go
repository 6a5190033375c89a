package gemini_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/backends/backendtest"
	"github.com/massgen/massgen/backends/gemini"
)

func simple() backends.Request {
	return backends.Request{Model: "m", Messages: []backends.Message{backends.User("hi")}}
}

func failure(t *testing.T, backend *gemini.Backend, req backends.Request) *backends.Error {
	t.Helper()
	_, err := backends.Collect(backend.Stream(t.Context(), req), nil)
	var e *backends.Error
	if !errors.As(err, &e) {
		t.Fatalf("the call ended with %v, not with a *backends.Error", err)
	}
	return e
}

type roundTripFunc func(*http.Request) (*http.Response, error)

func (f roundTripFunc) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func neverSent(t *testing.T) http.RoundTripper {
	return roundTripFunc(func(*http.Request) (*http.Response, error) {
		t.Error("it was sent")
		return nil, errors.New("sent")
	})
}

// TestOneCallIsOneRequest, whatever comes back: the library would ask again.
func TestOneCallIsOneRequest(t *testing.T) {
	t.Parallel()
	const more = `data: {"candidates":[{"content":{"parts":[{"text":"a"}]},"continuationToken":"QQ=="%s}]}` + "\n\n"
	for name, reply := range map[string]backendtest.Reply{
		"429":         {Error: &backendtest.ReplyError{Status: 429}},
		"500":         {Error: &backendtest.ReplyError{Status: 500}},
		"503":         {Error: &backendtest.ReplyError{Status: 503}},
		"cut":         {Text: "ab", Fault: backendtest.CutStream},
		"abort":       {Text: "ab", Fault: backendtest.AbortStream},
		"empty":       {Raw: "\n"},
		"resumable":   {Raw: fmt.Sprintf(more, "")},
		"interrupted": {Raw: fmt.Sprintf(more, `,"finishReason":"CONTINUATION"`)},
	} {
		server := backendtest.NewProtocolServer(t, backendtest.GenerateContent(), func(backendtest.Call) backendtest.Reply { return reply })
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
			Transport: roundTripFunc(func(r *http.Request) (*http.Response, error) {
				got = append(got, r.Method, r.URL.String(), r.Header.Get("X-Goog-Api-Key"), r.Header.Get("Content-Type"))
				return nil, errors.New("no network")
			}),
		})
		req := simple()
		req.Model = c.model
		if e := failure(t, backend, req); e.Provider != "gemini" || e.Kind != backends.KindNetwork {
			t.Errorf("%+v", e)
		}
		if diff := cmp.Diff([]string{"POST", c.wantURL, c.wantKey, "application/json"}, got); diff != "" {
			t.Error(diff)
		}
	}
	for _, bad := range []string{"ftp://user:pass@host", "user:pass@host/v1", "://", "http://"} {
		if _, err := gemini.New(gemini.Config{BaseURL: bad}); err == nil || strings.Contains(err.Error(), "pass") {
			t.Errorf("base URL %q gives %v", bad, err)
		}
	}
}

// TestSecretsAreNotShown: neither the key, nor a password, nor a header, nor a query.
func TestSecretsAreNotShown(t *testing.T) {
	echo := func(w http.ResponseWriter, r *http.Request) {
		user, password, _ := r.BasicAuth()
		http.Error(w, strings.Join([]string{
			r.Header.Get("X-Goog-Api-Key"), user, password, r.Header.Get("X-Api-Token"), r.URL.Query().Get("key"),
		}, " "), http.StatusBadRequest)
	}
	server := httptest.NewServer(http.HandlerFunc(echo))
	t.Cleanup(server.Close)
	backend := newBackend(t, gemini.Config{
		BaseURL: strings.Replace(server.URL, "://", "://me:pass%20word@", 1) + "?key=in-query",
		APIKey:  "AIza-key",
	})
	req := simple()
	req.Params.Headers = map[string]string{"X-Api-Token": "tok-1"}
	if got := failure(t, backend, req).Message; got != "*** me *** *** ***" {
		t.Errorf("the error shows %q", got)
	}
}

// TestKeyStaysWithItsHost: a redirect to another host is followed without it.
func TestKeyStaysWithItsHost(t *testing.T) {
	var got []string
	transport := roundTripFunc(func(r *http.Request) (*http.Response, error) {
		got = append(got, r.URL.Host+" "+r.Header.Get("X-Goog-Api-Key")+r.Header.Get("X-Api-Token")+r.URL.Query().Get("key"))
		resp := &http.Response{StatusCode: 307, Header: http.Header{"Location": {"http://other/x"}}, Body: http.NoBody, Request: r}
		if r.URL.Host == "other" {
			resp.StatusCode = 404
		}
		return resp, nil
	})
	backend := newBackend(t, gemini.Config{BaseURL: "http://host?key=q", APIKey: "k", Transport: transport})
	req := simple()
	req.Params.Headers = map[string]string{"X-Api-Token": "t"}
	failure(t, backend, req)
	if diff := cmp.Diff([]string{"host ktq", "other "}, got); diff != "" {
		t.Error(diff)
	}
}

// TestLibraryPrintsNothing: it would print errors of the stream to the log.
func TestLibraryPrintsNothing(t *testing.T) {
	var printed strings.Builder
	usual := log.Writer()
	log.SetOutput(&printed)
	t.Cleanup(func() { log.SetOutput(usual) })
	for _, fault := range []backendtest.Fault{backendtest.AbortStream, backendtest.ErrorInStream, backendtest.HTMLPage, backendtest.Reset} {
		server := backendtest.NewProtocolServer(t, backendtest.GenerateContent(), func(backendtest.Call) backendtest.Reply {
			return backendtest.Reply{Text: "ab", Fault: fault}
		})
		failure(t, newBackend(t, gemini.Config{BaseURL: server.BaseURL}), simple())
	}
	if printed.Len() > 0 {
		t.Errorf("it printed %s", printed.String())
	}
}

// TestLimitsOfTime takes the limits in a bubble where time is free.
func TestLimitsOfTime(t *testing.T) {
	const finished = `data: {"candidates":[{"content":{"parts":[{"text":"x"}]},"finishReason":"STOP"}]}` + "\n\n"
	const leading = `data: {"candidates":[{"finishReason":"STOP"}]}` + "\n\n"
	for _, c := range []struct {
		name  string
		cfg   gemini.Config
		reply backendtest.Reply
		after time.Duration
		want  string
	}{
		{"default of the first byte", gemini.Config{}, backendtest.Reply{Fault: backendtest.HangBefore}, 120 * time.Second, "no first byte of an answer within 2m0s"},
		{"default of silence", gemini.Config{}, backendtest.Reply{Text: "ab", Fault: backendtest.HangMidStream}, 60 * time.Second, "no more of the answer within 1m0s"},
		{"own limit", gemini.Config{FirstByteTimeout: time.Second}, backendtest.Reply{Delay: time.Hour}, time.Second, "no first byte of an answer within 1s"},
		{"no limit", gemini.Config{FirstByteTimeout: -1, IdleTimeout: -1}, backendtest.Reply{Text: "x", Delay: 24 * time.Hour}, 24 * time.Hour, ""},
		{"silence after the answer", gemini.Config{}, backendtest.Reply{Raw: finished, Fault: backendtest.HangMidStream}, 5 * time.Second, ""},
		{"silence after an early finish reason", gemini.Config{}, backendtest.Reply{Raw: leading, Fault: backendtest.HangMidStream}, 60 * time.Second, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := backendtest.NewProtocolPipeServer(t, backendtest.GenerateContent(), func(backendtest.Call) backendtest.Reply { return c.reply })
				c.cfg.BaseURL, c.cfg.Transport = server.BaseURL, server.Transport()
				backend := newBackend(t, c.cfg)
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

// TestCancelAfterTheAnswer: who cancels gets no answer, even if it was whole.
func TestCancelAfterTheAnswer(t *testing.T) {
	server := backendtest.NewProtocolServer(t, backendtest.GenerateContent(), func(backendtest.Call) backendtest.Reply {
		return backendtest.Reply{Raw: finished(`{"text":"x"}`), Fault: backendtest.HangMidStream}
	})
	backend := newBackend(t, gemini.Config{BaseURL: server.BaseURL})
	ctx, cancel := context.WithCancel(t.Context())
	_, err := backends.Collect(backend.Stream(ctx, simple()), func(backends.Event) { cancel() })
	if backends.KindOf(err) != backends.KindCancelled {
		t.Errorf("it ended with %v", err)
	}
}

func TestConnectionIsUsedAgain(t *testing.T) {
	backendtest.RunReuse(t, backendtest.GenerateContent(), func(t testing.TB, baseURL string, transport http.RoundTripper) backends.Backend {
		return newBackend(t, gemini.Config{BaseURL: baseURL, Transport: transport})
	})
}

// closeCounter counts how often a body is closed.
type closeCounter struct {
	io.Reader
	closed int
}

func (c *closeCounter) Close() error {
	c.closed++
	return nil
}

// TestEveryBodyIsClosed: an open one would hold a connection and its goroutines.
func TestEveryBodyIsClosed(t *testing.T) {
	for _, c := range []struct {
		name   string
		status int
		text   string
	}{
		{"answer", 200, finished(`{"text":"x"}`)}, {"cut", 200, "data: {}\n"}, {"error", 500, "x"}, {"page", 200, "<html>"},
		{"refusal", 200, `data: {"promptFeedback":{"blockReason":"SAFETY"}}` + "\n\n"},
	} {
		body := &closeCounter{Reader: strings.NewReader(c.text)}
		backend := newBackend(t, gemini.Config{Transport: roundTripFunc(func(r *http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: c.status, Body: body, Request: r}, nil
		})})
		_, err := backends.Collect(backend.Stream(t.Context(), simple()), nil)
		if body.closed == 0 || (err == nil) != (c.name == "answer") {
			t.Errorf("%s: closed %d times, %v", c.name, body.closed, err)
		}
	}
}
