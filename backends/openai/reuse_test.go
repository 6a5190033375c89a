package openai_test

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/backends/openai"
	"github.com/massgen/massgen/tests/backendtest"
)

// impatientServer answers the first request of each connection, and closes the
// connection when the next one comes on it, as a server does whose keep-alive has
// run out. It counts requests, and with a deaf server closes at the first. It is reached
// in memory, for a bubble where time is free: net/http gives up a connection on which it
// has not seen within 50 ms that the request went out.
func impatientServer(t *testing.T, deaf bool) (transport *http.Transport, requests *atomic.Int32) {
	t.Helper()
	requests = new(atomic.Int32)
	serve := func(conn net.Conn) {
		defer conn.Close()
		r := bufio.NewReader(conn)
		for first := true; ; first = false {
			req, err := http.ReadRequest(r)
			if err != nil {
				return
			}
			if _, err := bufio.NewReader(req.Body).Discard(int(req.ContentLength)); err != nil {
				t.Error(err)
			}
			requests.Add(1)
			if _, sent := req.Header["Idempotency-Key"]; sent {
				t.Error("the mark for net/http was sent")
			}
			if deaf || !first {
				return
			}
			body := "data: {\"choices\":[{\"delta\":{\"content\":\"hi\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n"
			if _, err := fmt.Fprintf(conn, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nContent-Length: %d\r\n\r\n%s", len(body), body); err != nil {
				t.Error(err)
			}
		}
	}
	return &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
		client, server := net.Pipe()
		go serve(server)
		return client, nil
	}}, requests
}

func TestConnectionThatWasClosedMeanwhileIsReplaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		transport, requests := impatientServer(t, false)
		b, err := openai.New(openai.Config{BaseURL: "http://backend.test/v1", Transport: transport})
		if err != nil {
			t.Fatal(err)
		}
		bodies := 0
		ctx := backends.WithTrace(t.Context(), &backends.Trace{RequestBody: func([]byte) { bodies++ }})
		for call := range 3 {
			resp, err := backends.Collect(b.Stream(ctx, backends.Request{Messages: []backends.Message{backends.User("hello")}}), nil)
			if err != nil || resp.Message.Text() != "hi" {
				t.Fatalf("call %d: %q, %v", call+1, resp.Message.Text(), err)
			}
		}
		if err := b.Close(); err != nil {
			t.Fatal(err)
		}
		if n := requests.Load(); n != 5 || bodies != 5 {
			t.Errorf("the server saw %d requests and the trace %d, want the three and the two that found a closed connection", n, bodies)
		}
	})
}

func TestNewConnectionThatIsClosedIsNotTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		transport, requests := impatientServer(t, true)
		b, err := openai.New(openai.Config{BaseURL: "http://backend.test/v1", Transport: transport})
		if err != nil {
			t.Fatal(err)
		}
		_, err = backends.Collect(b.Stream(t.Context(), backends.Request{Messages: []backends.Message{backends.User("hello")}}), nil)
		if backends.KindOf(err) != backends.KindNetwork {
			t.Errorf("a closed connection: %v", err)
		}
		if n := requests.Load(); n != 1 {
			t.Errorf("the server saw %d requests", n)
		}
	})
}

// What a service tells of the cost before it withholds or breaks the answer is
// not lost.
func TestUsageOfAFailedAnswerIsTold(t *testing.T) {
	const usage = `data: {"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":2}}` + "\n\n"
	for name, stream := range map[string]string{
		"refused": `data: {"choices":[{"delta":{"content":"no"},"finish_reason":"content_filter"}]}` + "\n\n" + usage + "data: [DONE]\n\n",
		"cut":     `data: {"choices":[{"delta":{"content":"I th"}}]}` + "\n\n" + usage,
		"broken":  usage + `data: {"error":{"message":"out of memory"}}` + "\n\n",
	} {
		server := backendtest.NewServer(t, func(backendtest.Call) backendtest.Reply { return backendtest.Reply{Raw: stream} })
		b, err := openai.New(openai.Config{BaseURL: server.BaseURL})
		if err != nil {
			t.Fatal(err)
		}
		resp, err := backends.Collect(b.Stream(t.Context(), backends.Request{Messages: []backends.Message{backends.User("hello")}}), nil)
		if err == nil || resp.Usage == nil || resp.Usage.InputTokens != 9 {
			t.Errorf("%s: usage %+v, error %v", name, resp.Usage, err)
		}
		if err := b.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
