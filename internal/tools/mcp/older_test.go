package mcp_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/massgen/massgen/internal/tools/mcp"
)

// echoServer has one tool.
func echoServer() *sdk.Server {
	server := sdk.NewServer(&sdk.Implementation{Name: "echo", Version: "1"}, nil)
	server.AddTool(&sdk.Tool{Name: "tool", InputSchema: map[string]any{"type": "object"}}, func(context.Context, *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: "fine"}}}, nil
	})
	return server
}

// TestOlderTransport: a server that has only the transport HTTP+SSE of 2024-11-05 is used.
func TestOlderTransport(t *testing.T) {
	t.Parallel()
	for _, status := range []int{http.StatusMethodNotAllowed, http.StatusNotFound, http.StatusBadRequest} {
		older := sdk.NewSSEHandler(func(*http.Request) *sdk.Server { return echoServer() }, nil)
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodPost && r.URL.RawQuery == "" {
				http.Error(w, http.StatusText(status), status)
				return
			}
			older.ServeHTTP(w, r)
		}))
		t.Cleanup(s.Close)
		t.Cleanup(s.CloseClientConnections)
		c, _ := start(t, mcp.Server{Name: "fake", URL: s.URL + "/sse"}, mcp.Options{})
		if got := call(t, c, "tool", ""); got != "fine" {
			t.Errorf("after %d the tool returned %q", status, got)
		}
	}
}

// TestOlderTransportStaysAtHome: the address for messages cannot send the headers to another host.
func TestOlderTransportStaysAtHome(t *testing.T) {
	t.Parallel()
	var strayed atomic.Bool
	away := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { strayed.Store(true) }))
	t.Cleanup(away.Close)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			http.Error(w, "no", http.StatusMethodNotAllowed)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, "event: endpoint\ndata: "+away.URL+"/messages\n\n")
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	}))
	t.Cleanup(s.Close)
	t.Cleanup(s.CloseClientConnections)
	mustContain(t, refused(t, mcp.Server{Name: "fake", URL: s.URL, Headers: map[string]string{"Authorization": "SECRET"}}), "it names the address", "older transport")
	if strayed.Load() {
		t.Error("a request went to another host")
	}
}

// TestLostSessions: whatever a server answers for a session that it forgot, the call is made in a new one.
func TestLostSessions(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		status int
		body   string
		lost   bool
	}{
		{404, `{"jsonrpc":"2.0","id":null,"error":{"code":-32001,"message":"Session not found"}}`, true},
		{404, "", true},
		{410, "gone", true},
		{400, `{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"Bad Request: No valid session ID provided"}}`, true},
		{400, "Bad Request: Server not initialized", true},
		{401, "Unauthorized: Session not found", true},
		{400, `{"jsonrpc":"2.0","id":null,"error":{"code":-32602,"message":"the city is missing"}}`, false},
	} {
		server := echoServer()
		handler := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, nil)
		t.Cleanup(func() {
			for session := range server.Sessions() {
				_ = session.Close() // the one that was given up
			}
		})
		var calls atomic.Int32
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			if strings.Contains(string(body), "tools/call") && calls.Add(1) == 1 {
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(test.status)
				_, _ = io.WriteString(w, test.body)
				return
			}
			r.Body = io.NopCloser(strings.NewReader(string(body)))
			handler.ServeHTTP(w, r)
		}))
		t.Cleanup(s.Close)
		t.Cleanup(s.CloseClientConnections)
		c, _ := start(t, mcp.Server{Name: "fake", URL: s.URL}, mcp.Options{})
		if !test.lost {
			mustContain(t, fails(t, c, "tool", ""), "Bad Request")
			if n := calls.Load(); n != 1 {
				t.Errorf("a refused call was made %d times", n)
			}
			continue
		}
		if got := call(t, c, "tool", ""); got != "fine" {
			t.Errorf("after %d %s the tool returned %q", test.status, test.body, got)
		}
	}
}

// TestWarnings: a person learns of tools that are left out and of a server that ends.
func TestWarnings(t *testing.T) {
	t.Parallel()
	for lie, want := range map[string]string{"schemas": `its tool "array" is left out`, "no list": "it offers no tools", "closes output": "the next call starts it again"} {
		warned := make(chan string, 20)
		c, _ := start(t, self("liar", lie), mcp.Options{Warn: func(_, text string) { warned <- text }})
		if lie == "closes output" {
			fails(t, c, "tool", "")
		}
		for {
			if text := <-warned; strings.Contains(text, want) {
				break
			}
		}
	}
}

// TestUntidyServer: a byte order mark and ids that come back as texts cost nothing.
func TestUntidyServer(t *testing.T) {
	t.Parallel()
	c, _ := start(t, self("liar", "untidy"), mcp.Options{})
	if got := call(t, c, "tool", ""); got != "fine" {
		t.Errorf("the tool returned %q", got)
	}
}
