package mcp_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/massgen/massgen/internal/tools/mcp"
)

// postServer answers requests, and lets get answer those for a stream. A call waits for release, if there
// is one.
func postServer(t *testing.T, kind string, get http.HandlerFunc, release <-chan struct{}) mcp.Server {
	t.Helper()
	return serveHTTP(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost {
			get(w, r)
			return
		}
		var m request
		if err := json.NewDecoder(r.Body).Decode(&m); err != nil {
			t.Error(err)
		}
		w.Header()["Content-Type"] = nil // else net/http would guess it
		if kind != "" {
			w.Header().Set("Content-Type", kind)
		}
		if m.ID == nil {
			w.WriteHeader(http.StatusAccepted)
			return
		}
		if m.Method == "tools/call" && release != nil {
			<-release
		}
		answerTruly(w, m)
	}))
}

// TestAStreamThatEndsLeavesTheCalls: a server may close the stream of its own messages whenever it likes,
// and need not open it again.
func TestAStreamThatEndsLeavesTheCalls(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	release := make(chan struct{})
	var once sync.Once
	server := postServer(t, "application/json", func(w http.ResponseWriter, _ *http.Request) {
		if asked.Add(1) == 1 {
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprint(w, "event: ping\ndata: \n\n")
			return
		}
		w.WriteHeader(http.StatusMethodNotAllowed)
		once.Do(func() { close(release) })
	}, release)
	c, _ := start(t, server, mcp.Options{})
	if got := call(t, c, "tool", ""); got != "fine" {
		t.Errorf("the tool returned %q", got)
	}
	if got := asked.Load(); got != 2 {
		t.Errorf("the stream was asked for %d times", got)
	}
}

// TestHTTPKeyForTheStreamOnly: a server whose stream needs a key has its tools at once.
func TestHTTPKeyForTheStreamOnly(t *testing.T) {
	t.Parallel()
	for _, status := range []int{http.StatusUnauthorized, http.StatusForbidden, http.StatusInternalServerError} {
		var asked atomic.Int64
		server := postServer(t, "application/json", func(w http.ResponseWriter, _ *http.Request) {
			asked.Add(1)
			w.WriteHeader(status)
		}, nil)
		c, _ := start(t, server, mcp.Options{})
		if got := call(t, c, "tool", ""); got != "fine" || asked.Load() > 1 {
			t.Errorf("%d: the tool returned %q, and the stream was asked for %d times", status, got, asked.Load())
		}
	}
}

// TestHTTPContentTypes: a message counts whatever the server calls it.
func TestHTTPContentTypes(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"", "text/plain", "text/plain; charset=utf-8", "text/json", "application/json-rpc", "text/html", "application/octet-stream", "application/json; charset"} {
		c, _ := start(t, postServer(t, kind, http.NotFound, nil), mcp.Options{})
		if got := call(t, c, "tool", ""); got != "fine" {
			t.Errorf("%q: the tool returned %q", kind, got)
		}
	}
}

// TestACutAnswerCostsItsCall: a server that cuts one answer off, and does not have the rest, leaves the
// other calls alone.
func TestACutAnswerCostsItsCall(t *testing.T) {
	t.Parallel()
	release, waiting, other := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	var calls atomic.Int64
	server := serveHTTP(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var m request
		if r.Method != http.MethodPost || json.NewDecoder(r.Body).Decode(&m) != nil {
			w.WriteHeader(http.StatusMethodNotAllowed)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		switch {
		case m.ID == nil:
			w.WriteHeader(http.StatusAccepted)
			return
		case m.Method == "tools/call" && calls.Add(1) == 1:
			close(waiting)
			<-release
		case m.Method == "tools/call":
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprint(w, "id: 1\nretry: 1\ndata: \n\n")
			return
		}
		answerTruly(w, m)
	}))
	c, _ := start(t, server, mcp.Options{})
	tool := find(t, c, "tool")
	go func() {
		got, err := tool.Call(t.Context(), "")
		if err == nil && got != "fine" {
			err = fmt.Errorf("it returned %q", got)
		}
		other <- err
	}()
	<-waiting
	if got := fails(t, c, "tool", ""); !strings.Contains(got, "it cut the answer off") {
		t.Errorf("the call failed with %q", got)
	}
	close(release)
	if err := <-other; err != nil {
		t.Errorf("the other call: %v", err)
	}
}
