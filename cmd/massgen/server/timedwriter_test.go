package server_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// timed is a recorded response that counts the writes without a time limit of their own.
type timed struct {
	*httptest.ResponseRecorder
	due       bool
	unlimited int
}

func (w *timed) SetWriteDeadline(at time.Time) error {
	w.due = !at.IsZero()
	return nil
}

func (w *timed) Write(data []byte) (int, error) {
	if !w.due {
		w.unlimited++
	}
	w.due = false
	return w.ResponseRecorder.Write(data)
}

// TestEveryWriteHasATimeLimit: a client that reads nothing would hold the rest of a response in memory.
func TestEveryWriteHasATimeLimit(t *testing.T) {
	s := serve(t, nil)
	if r := s.ask(t, "s", "pair"); r.status != http.StatusOK {
		t.Fatal(r.body)
	}
	for _, request := range []string{
		"GET /", "GET /page.js", "GET /page.css", "GET /icon.svg", "GET /healthz", "GET /readyz", "GET /metrics", "GET /nothing", "GET /v1/models",
		"GET /sessions", "GET /sessions/s", "GET /sessions/s/turns/1/inputs/1", "GET /sessions/s/turns/1/inputs/1?as=text", "GET /sessions/s/turns/1/inputs/1/diff",
		"GET /sessions/s/turns/1/timeline.svg", "GET /sessions/s/turns/1/events", "GET /debug/session/s",
		`POST /v1/chat/completions {"model":"pair","messages":[{"role":"user","content":"?"}]}`,
		`POST /v1/chat/completions {"model":"pair","stream":true,"messages":[{"role":"user","content":"?"}]}`,
		`POST /v1/responses {"model":"pair","stream":true,"input":"?"}`,
		`POST /mcp {"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`,
		`POST /mcp no JSON`,
	} {
		method, rest, _ := strings.Cut(request, " ")
		path, body, _ := strings.Cut(rest, " ")
		r := httptest.NewRequestWithContext(t.Context(), method, path, strings.NewReader(body))
		r.Host = "localhost"
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
		w := &timed{ResponseRecorder: httptest.NewRecorder()}
		s.Config.Handler.ServeHTTP(w, r)
		if w.unlimited > 0 || w.Body.Len() == 0 {
			t.Errorf("%s: status %d, %d bytes, %d writes without a limit", request, w.Code, w.Body.Len(), w.unlimited)
		}
		if !w.due {
			t.Errorf("%s: the rest that the server writes has no limit", request)
		}
	}
}
