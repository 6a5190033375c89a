package mcp_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/massgen/massgen/agents"
	"github.com/massgen/massgen/internal/tools/mcp"
)

// serveHTTP serves until t ends, and returns what reaches it.
func serveHTTP(t *testing.T, handler http.Handler) mcp.Server {
	t.Helper()
	s := httptest.NewServer(handler)
	t.Cleanup(s.Close)
	return mcp.Server{Name: "fake", URL: s.URL}
}

// honestHTTP is an honest server, and the lines that it prints.
func honestHTTP(t *testing.T) (http.Handler, heard) {
	t.Helper()
	lines := make(heard, 100)
	server := honestServer(func(line string) { lines.log("", line) })
	t.Cleanup(func() {
		for s := range server.Sessions() {
			s.Close()
		}
	})
	return sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, nil), lines
}

func TestHTTP(t *testing.T) {
	t.Parallel()
	var without atomic.Int64
	honest, lines := honestHTTP(t)
	server := serveHTTP(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Key") != "secret" {
			without.Add(1)
		}
		honest.ServeHTTP(w, r)
	}))
	server.Headers = map[string]string{"X-Key": "secret"}
	c, _ := start(t, server, mcp.Options{})
	if got := call(t, c, "arguments", `{"a":1}`); got != `{"a":1}` {
		t.Errorf("the server was given %s", got)
	}
	mustContain(t, fails(t, c, "fail", ""), "no such file")
	watched, stop := context.WithCancel(t.Context())
	defer stop()
	told := make(chan agents.Progress, 10)
	watched = agents.WithProgress(watched, func(p agents.Progress) {
		told <- p
		stop()
	})
	if _, err := find(t, c, "progress_and_wait").Call(watched, ""); !errors.Is(err, context.Canceled) {
		t.Errorf("a call that was cancelled when it made progress: %v", err)
	}
	if got, want := <-told, (agents.Progress{Fraction: 0.25, Text: "1 of 4"}); got != want {
		t.Errorf("the progress was %v", got)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	wait, done := find(t, c, "wait"), make(chan error, 1)
	go func() {
		_, err := wait.Call(ctx, "")
		done <- err
	}()
	lines.await(t, "waiting") // before that, the server would have nothing to cancel
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled call ended with %v", err)
	}
	lines.await(t, "cancelled")
	if n := without.Load(); n > 0 {
		t.Errorf("%d requests lacked the header", n)
	}
}

// saysNothing until the client goes away, which a server sees when it has read all.
func saysNothing(_ http.ResponseWriter, r *http.Request) {
	if _, err := io.Copy(io.Discard, r.Body); err == nil {
		<-r.Context().Done()
	}
}

// TestHTTPFaults: what is wrong at the start is said in one line.
func TestHTTPFaults(t *testing.T) {
	t.Parallel()
	elsewhere := serveHTTP(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("another host was sent %v", r.Header)
	}))
	for name, test := range map[string]struct {
		handler http.HandlerFunc
		want    string
	}{
		"unauthorized": {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) }, "key under headers"},
		"another protocol": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Connection", "Upgrade")
			w.Header().Set("Upgrade", "other")
			w.WriteHeader(http.StatusSwitchingProtocols)
		}, "101 Switching Protocols, which nobody asked for"},
		"missing": {http.NotFound, "Not Found"},
		"page":    {func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>") }, "unsupported content type"},
		"broken":  {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) }, "Internal Server Error"},
		"elsewhere": {func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, elsewhere.URL, http.StatusTemporaryRedirect)
		}, "redirects to http://127.0.0.1"},
		"no json": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, "no")
		}, "start"},
		"flood": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			for range 100 {
				fmt.Fprint(w, strings.Repeat(" ", 1<<20))
			}
		}, "more than the 8 MiB that are taken"},
		"silent": {saysNothing, "did not answer within 1s"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := serveHTTP(t, test.handler)
			server.Headers = map[string]string{"Authorization": "secret"}
			if name == "silent" {
				server.StartTimeout = time.Second
			}
			got := refused(t, server)
			mustContain(t, got, test.want, `MCP server "fake"`)
			t.Log(got)
		})
	}
	t.Run("gone", func(t *testing.T) {
		server := serveHTTP(t, http.NotFoundHandler())
		server.URL = "http://127.0.0.1:1/?key=secret"
		if got := refused(t, server); strings.Contains(got, "secret") {
			t.Errorf("the address is shown: %s", got)
		}
	})
}

// TestHTTPFloodOfAnError: an error that calls itself a stream is bounded like any other.
func TestHTTPFloodOfAnError(t *testing.T) {
	t.Parallel()
	var sent atomic.Int64
	server := serveHTTP(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		w.WriteHeader(http.StatusBadRequest)
		for range 100 {
			n, err := fmt.Fprint(w, strings.Repeat("x", 1<<20))
			if err != nil {
				return
			}
			sent.Add(int64(n))
		}
	}))
	mustContain(t, refused(t, server), "Bad Request")
	if n := sent.Load(); n > 50<<20 {
		t.Errorf("%d bytes of an error were read", n)
	}
}

// TestHTTPLies: what goes wrong with a call costs the call; a session that is lost is
// opened anew.
func TestHTTPLies(t *testing.T) {
	for name, test := range map[string]struct {
		lie  func(w http.ResponseWriter, r *http.Request)
		want string
	}{
		"cut": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprint(w, "event: message\ndata: {\"json")
		}, ""},
		"flood": {func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprint(w, "event: message\ndata: ")
			for range 100 {
				fmt.Fprint(w, strings.Repeat("x", 1<<20))
			}
		}, "its answer has more than the 8 MiB that are taken: ask it for less"},
		"flood of events": {func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			data := `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"call-1","progress":1,"message":"` +
				strings.Repeat("x", 4<<10) + `"}}`
			for range (100 << 20) / len(data) {
				fmt.Fprintf(w, "event: message\ndata: %s\n\n", data)
			}
		}, ""},
		"silence": {saysNothing, "did not answer within"},
	} {
		t.Run(name, func(t *testing.T) {
			var lying atomic.Bool
			honest, _ := honestHTTP(t)
			server := serveHTTP(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Method == http.MethodPost && r.Header.Get("Mcp-Session-Id") != "" && lying.CompareAndSwap(true, false) {
					test.lie(w, r)
					return
				}
				honest.ServeHTTP(w, r)
			}))
			if name == "silence" {
				server.CallTimeout = 300 * time.Millisecond
			}
			c, _ := start(t, server, mcp.Options{})
			before := heap()
			lying.Store(true)
			got := fails(t, c, "arguments", "")
			mcp.SetCallTimeout(c, patience)
			mustContain(t, got, test.want)
			t.Logf("%s; the heap grew by %d MB", got, int64(heap()-before)>>20)
			if grown := int64(heap()-before) >> 20; grown > 80 {
				t.Errorf("the heap grew by %d MB", grown)
			}
			if got := call(t, c, "arguments", ""); got != "{}" {
				t.Errorf("after that the tool returned %q", got)
			}
		})
	}
}

// TestForgottenSession: a call that the server refuses because it has forgotten the
// session is made in a new one, however often that happens; one that is under way then
// has failed, and is not made twice.
func TestForgottenSession(t *testing.T) {
	t.Parallel()
	var forgetful atomic.Bool
	waiting := make(chan struct{}, 10)
	honest, _ := honestHTTP(t)
	server := serveHTTP(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		isCall := bytes.Contains(body, []byte("tools/call"))
		switch {
		case isCall && bytes.Contains(body, []byte(`"wait"`)):
			w.Header().Set("Content-Type", "text/event-stream")
			w.WriteHeader(http.StatusOK)
			w.(http.Flusher).Flush()
			waiting <- struct{}{}
			<-r.Context().Done()
		case (isCall || bytes.Contains(body, []byte(`"ping"`))) && forgetful.CompareAndSwap(true, false):
			w.WriteHeader(http.StatusNotFound)
		default:
			honest.ServeHTTP(w, r)
		}
	}))
	c, _ := start(t, server, mcp.Options{})
	wait, done := find(t, c, "wait"), make(chan error, 1)
	go func() {
		_, err := wait.Call(t.Context(), "")
		done <- err
	}()
	<-waiting
	forgetful.Store(true)
	if err := c.Ping(t.Context()); err == nil {
		t.Error("a server that has forgotten the session answers a ping")
	}
	if err := <-done; err == nil || !strings.Contains(err.Error(), "forgot the session during the call") {
		t.Errorf("the call that was under way: %v", err)
	}
	if len(waiting) > 0 {
		t.Error("the call that was under way was made twice")
	}
	for i := range mcp.MaxRestarts + 2 {
		forgetful.Store(true)
		if got := call(t, c, "arguments", fmt.Sprintf(`{"n":%d}`, i)); got != fmt.Sprintf(`{"n":%d}`, i) {
			t.Errorf("in the new session the tool returned %q", got)
		}
	}
}

// TestUnknownSession: a server that knows no session is not asked for ever.
func TestUnknownSession(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	honest, _ := honestHTTP(t)
	server := serveHTTP(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		if bytes.Contains(body, []byte("tools/call")) {
			asked.Add(1)
			w.WriteHeader(http.StatusNotFound)
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		honest.ServeHTTP(w, r)
	}))
	c, _ := start(t, server, mcp.Options{})
	mustContain(t, fails(t, c, "arguments", ""), "forgot the session")
	if n := asked.Load(); n != 2 {
		t.Errorf("it was asked %d times", n)
	}
}

// TestHTTPUnansweredAnswer: a server that asks, and then takes no answer, cannot keep
// a client from closing.
func TestHTTPUnansweredAnswer(t *testing.T) {
	t.Parallel()
	server := serveHTTP(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var m request
		if r.Method != http.MethodPost || json.NewDecoder(r.Body).Decode(&m) != nil || m.Method == "" {
			saysNothing(w, r)
			return
		}
		if m.Method == "tools/call" {
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprint(w, "data: {\"jsonrpc\":\"2.0\",\"id\":\"q\",\"method\":\"ping\"}\n\ndata: ")
			defer fmt.Fprint(w, "\n")
		} else {
			w.Header().Set("Content-Type", "application/json")
		}
		answerTruly(w, m)
	}))
	c, _ := start(t, server, mcp.Options{})
	if got := call(t, c, "tool", ""); got != "fine" {
		t.Errorf("the tool returned %q", got)
	}
}

// TestHTTPWithoutStream: a server that does not answer the request for a stream is
// used without one.
func TestHTTPWithoutStream(t *testing.T) {
	t.Parallel()
	server := serveHTTP(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost {
			saysNothing(w, r)
			return
		}
		var m request
		if err := json.NewDecoder(r.Body).Decode(&m); err != nil {
			t.Error(err)
		}
		w.Header().Set("Content-Type", "application/json")
		if m.ID == nil {
			w.WriteHeader(http.StatusAccepted)
			return
		}
		answerTruly(w, m)
	}))
	c, _ := start(t, server, mcp.Options{})
	if got := call(t, c, "tool", ""); got != "fine" {
		t.Errorf("the tool returned %q", got)
	}
}
