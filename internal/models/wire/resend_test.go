package wire

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"strings"
	"testing"
)

// Over HTTP/2 net/http sends a request that is reset in certain ways again, without an end, and
// each is paid for. It gets the body once more and no third connection.
func TestAttemptIsSentTwiceAtMost(t *testing.T) {
	s, err := NewService(Config{Provider: "test", BaseURL: "https://example.com"})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	x := s.begin(t.Context(), nil)
	x.body = Encoded{[]byte("{}")}
	req, err := http.NewRequestWithContext(x.ctx, http.MethodPost, "https://example.com", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	x.prepare(req)
	if _, err := req.GetBody(); err != nil {
		t.Errorf("the second time: %v", err)
	}
	if _, err := req.GetBody(); !errors.Is(err, errSentTwice) {
		t.Errorf("the third time: %v", err)
	}
	trace := httptrace.ContextClientTrace(x.ctx)
	for n := range 3 {
		if x.ctx.Err() != nil {
			t.Errorf("connection %d is refused", n+1)
		}
		trace.GotConn(httptrace.GotConnInfo{})
	}
	if cause := context.Cause(x.ctx); !errors.Is(cause, errSentTwice) {
		t.Errorf("a third connection ends it with %v", cause)
	}
}

// A redirect is no break: each hop has a connection of its own.
func TestRedirectsAreFollowed(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if len(r.URL.Path) < 4 {
			http.Redirect(w, r, r.URL.Path+"x", http.StatusTemporaryRedirect)
			return
		}
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		if _, err := w.Write(body); err != nil {
			t.Error(err)
		}
	}))
	defer server.Close()
	s, err := NewService(Config{Provider: "test", BaseURL: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	x := s.begin(t.Context(), nil)
	defer x.end()
	x.body = Encoded{[]byte("the body")}
	err = x.open(func(ctx context.Context) error {
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, server.URL+"/", strings.NewReader("another"))
		if err != nil {
			return err
		}
		resp, err := s.Client().Do(req)
		if err != nil {
			return err
		}
		return resp.Body.Close()
	})
	if err != nil {
		t.Fatal(err)
	}
	defer x.kept.Close()
	if body, err := io.ReadAll(x.kept); err != nil || string(body) != "the body" {
		t.Errorf("the answer is %q, error %v", body, err)
	}
}
