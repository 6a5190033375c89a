package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/massgen/massgen"
	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/internal/storage/store"
)

// waiting is a model that answers when its channel is closed.
type waiting struct{ until chan struct{} }

// Stream implements backends.Backend.
func (m waiting) Stream(ctx context.Context, _ backends.Request) iter.Seq2[backends.Event, error] {
	return func(yield func(backends.Event, error) bool) {
		select {
		case <-m.until:
		case <-ctx.Done():
			yield(nil, &backends.Error{Kind: backends.KindCancelled, Err: ctx.Err()})
			return
		}
		if yield(backends.TextDelta{Text: "The sun."}, nil) && yield(backends.Usage{InputTokens: 2, OutputTokens: 1}, nil) {
			yield(backends.Finish{Reason: "stop"}, nil)
		}
	}
}

// statusOf sends a request, such as GET / {}, and returns the status of its whole response, or the error.
func statusOf(t *testing.T, server, request string) string {
	t.Helper()
	method, rest, _ := strings.Cut(request, " ")
	path, body, _ := strings.Cut(rest, " ")
	r, err := http.NewRequestWithContext(t.Context(), method, server+path, strings.NewReader(body))
	if err != nil {
		return err.Error()
	}
	r.Header.Set("Content-Type", "application/json")
	reply, err := http.DefaultClient.Do(r)
	if err != nil {
		return err.Error()
	}
	_, err = io.Copy(io.Discard, reply.Body)
	if err := errors.Join(err, reply.Body.Close()); err != nil {
		return err.Error()
	}
	return reply.Status
}

// TestRunningTurnsHoldNoBodies: a body counts in the budget of all bodies until its turn has begun.
func TestRunningTurnsHoldNoBodies(t *testing.T) {
	until := make(chan struct{})
	same := func(text string) string { return text }
	kept := store.InMemory("", same).Sessions
	s := New(Settings{
		Models: []Model{{ID: "one", Open: func(ctx context.Context) (*massgen.Panel, error) {
			return massgen.New(ctx, []massgen.Agent{{ID: "ada", Model: "m", Backend: waiting{until}}}, massgen.WithStore(kept))
		}}},
		Store: kept, Redact: same, Log: slog.New(slog.DiscardHandler),
	})
	h := httptest.NewServer(s)
	defer h.Close()
	pad := strings.Repeat("x", 1<<20)
	requests := []string{
		`POST /v1/chat/completions {"model":"one","prompt_cache_key":"PAD","messages":[{"role":"user","content":"?"}]}`,
		`POST /v1/chat/completions {"model":"one","stream":true,"prompt_cache_key":"PAD","messages":[{"role":"user","content":"?"}]}`,
		`POST /v1/responses {"model":"one","stream":true,"prompt_cache_key":"PAD","input":"?"}`,
		`POST /sessions {"model":"one","pad":"PAD","question":"?"}`,
		`GET /v1/models {"pad":"PAD"}`,
	}
	replies := make(chan string, len(requests)+1)
	c, err := mcp.NewClient(&mcp.Implementation{Name: "test"}, nil).Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: h.URL + "/mcp", DisableStandaloneSSE: true}, nil)
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		r, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: "ask_panel", Arguments: map[string]any{"question": "?"}, Meta: mcp.Meta{"pad": pad}})
		if err != nil || r.IsError {
			replies <- fmt.Sprint(r, err)
			return
		}
		replies <- "200 OK"
	}()
	for _, request := range requests {
		go func() { replies <- statusOf(t, h.URL, strings.Replace(request, "PAD", pad, 1)) }()
	}
	turns := func() int {
		s.runs.mu.Lock()
		defer s.runs.mu.Unlock()
		return len(s.runs.open)
	}
	held := func() int64 {
		s.guard.bodies.mu.Lock()
		defer s.guard.bodies.mu.Unlock()
		return s.guard.bodies.held
	}
	patience, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for turns() < len(requests) || held() > 0 {
		if len(replies) > 1 || patience.Err() != nil { // only the request of the list of models ends
			close(until)
			t.Fatalf("%d turns run, %d requests have ended, and %d bytes are held", turns(), len(replies), held())
		}
		runtime.Gosched()
	}
	close(until)
	for range len(requests) + 1 {
		if status := <-replies; status != "200 OK" {
			t.Error(status)
		}
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	if err := s.close(); err != nil {
		t.Error(err)
	}
}
