package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/massgen/massgen/internal/system/sleep"
)

const (
	lastEventHeader = "Last-Event-ID"
	eventStream     = "text/event-stream"
)

// streamTripper keeps faults of streams away from the calls of a session. The SDK ends the session, with
// all its calls, when a stream that it had cannot be opened again.
type streamTripper struct {
	next http.RoundTripper
}

// RoundTrip is safe for concurrent use.
func (t streamTripper) RoundTrip(req *http.Request) (*http.Response, error) {
	switch {
	case req.Method == http.MethodPost:
		rememberID(req)
	case req.Method == http.MethodGet && req.Header.Get(lastEventHeader) != "":
		return t.resume(req)
	case req.Method == http.MethodGet:
		return t.listen(req)
	}
	return t.next.RoundTrip(req)
}

// listen opens the stream of the server's own messages. A server that refuses it, in whatever way, has
// no such stream. The body of the response lasts as long as the request's context.
func (t streamTripper) listen(req *http.Request) (*http.Response, error) {
	resp, err := t.next.RoundTrip(req)
	switch {
	case req.Context().Err() != nil:
		if err == nil {
			resp.Body.Close()
		}
		return nil, req.Context().Err()
	case err != nil:
		resp = nil
	case isRedirectWithin(req, resp):
		return resp, nil
	case !isStream(resp):
		resp.Body.Close()
		return noStream(req), nil
	}
	body := &streamBody{tripper: t.next, req: req, pause: reopenPause}
	if resp != nil {
		body.events = resp.Body.(*eventBody)
	}
	return streamOf(req, body), nil
}

// resume opens the stream of one call again. If the server refuses, that call fails and no other.
func (t streamTripper) resume(req *http.Request) (*http.Response, error) {
	resp, err := t.next.RoundTrip(req)
	if err != nil || isStream(resp) || isTransient(resp.StatusCode) {
		if err == nil && !isStream(resp) {
			resp.Body.Close()
			return nil, fmt.Errorf("it answers %s", resp.Status)
		}
		return resp, err
	}
	resp.Body.Close()
	sent, ok := req.Context().Value(sentCallKey{}).(*sentCall)
	if !ok || sent.id.Load() == nil {
		return nil, fmt.Errorf("it answers %s", resp.Status)
	}
	failure := fmt.Sprintf(`data: {"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":%q}}`+"\n\n",
		*sent.id.Load(), codeUnread, "it cut the answer off, and answers "+strconv.Itoa(resp.StatusCode)+" when it is asked for the rest")
	return streamOf(req, io.NopCloser(strings.NewReader(failure))), nil
}

func isStream(resp *http.Response) bool {
	_, ok := resp.Body.(*eventBody)
	return ok
}

// isRedirectWithin reports whether a response leads to another address of the same server.
func isRedirectWithin(req *http.Request, resp *http.Response) bool {
	to, err := resp.Location()
	return err == nil && resp.StatusCode >= 300 && resp.StatusCode <= 399 && to.Host == req.URL.Host && to.Scheme == req.URL.Scheme
}

// isTransient reports whether the same request may succeed later.
func isTransient(status int) bool {
	return status == http.StatusTooManyRequests || status >= 500
}

// streamOf returns a response with server-sent events.
func streamOf(req *http.Request, body io.ReadCloser) *http.Response {
	return &http.Response{
		Status: "200 OK", StatusCode: http.StatusOK, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Content-Type": {eventStream}}, Body: body, Request: req, ContentLength: -1,
	}
}

// streamBody is the stream of a server's own messages, opened again as often as it ends. It leaves out
// what is no message.
type streamBody struct {
	tripper http.RoundTripper
	req     *http.Request
	events  *eventBody // nil between two streams
	lastID  string
	pause   time.Duration // before the stream is opened again
	out     []byte        // to be read
}

// Read implements io.Reader. It returns an error only after the end of the request's context.
func (b *streamBody) Read(p []byte) (int, error) {
	for len(b.out) == 0 {
		if b.events == nil {
			if err := b.reopen(); err != nil {
				return 0, err
			}
		}
		event, err := b.events.next()
		b.take(event)
		if err != nil {
			b.events.Close()
			b.events = nil
		}
	}
	n := copy(p, b.out)
	b.out = b.out[n:]
	return n, nil
}

// Close implements io.Closer.
func (b *streamBody) Close() error {
	if b.events == nil {
		return nil
	}
	return b.events.Close()
}

// take passes on the message of an event.
func (b *streamBody) take(event []byte) {
	others, message := eventParts(event)
	name := ""
	for _, line := range others {
		key, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch string(key) {
		case "event":
			name = string(value)
		case "id":
			b.lastID = string(value)
		case "retry":
			if ms, err := strconv.ParseUint(string(value), 10, 32); err == nil {
				b.pause = min(time.Duration(ms)*time.Millisecond, mostListenPause)
			}
		}
	}
	if name != "" && name != "message" {
		return
	}
	if _, err := jsonrpc.DecodeMessage(message); err == nil {
		b.out = eventOf(nil, message)
	}
}

// reopen opens the stream again. If the server has no stream any more, it waits for the end of the
// request's context.
func (b *streamBody) reopen() error {
	ctx := b.req.Context()
	for {
		if err := sleep.For(ctx, b.pause); err != nil {
			return err
		}
		req := b.req.Clone(ctx)
		if b.lastID != "" {
			req.Header.Set(lastEventHeader, b.lastID)
		}
		resp, err := b.tripper.RoundTrip(req)
		if ctx.Err() != nil {
			if err == nil {
				resp.Body.Close()
			}
			return ctx.Err()
		}
		if err != nil {
			continue // carefulTripper paces the requests
		}
		if isStream(resp) {
			b.events = resp.Body.(*eventBody)
			return nil
		}
		resp.Body.Close()
		if !isTransient(resp.StatusCode) {
			<-ctx.Done()
			return ctx.Err()
		}
	}
}

// sentCall is the request of a call.
type sentCall struct {
	// refused is set if the server does not know the session.
	refused atomic.Bool
	// id is the JSON of the request's id.
	id atomic.Pointer[string]
}

type sentCallKey struct{}

// withSentCall returns a context for the request of a call.
func withSentCall(ctx context.Context, p *sentCall) context.Context {
	return context.WithValue(ctx, sentCallKey{}, p)
}

func recordRefusal(ctx context.Context) {
	if p, ok := ctx.Value(sentCallKey{}).(*sentCall); ok {
		p.refused.Store(true)
	}
}

// rememberID stores the id of a call's request, which resume needs.
func rememberID(req *http.Request) {
	p, ok := req.Context().Value(sentCallKey{}).(*sentCall)
	if !ok {
		return
	}
	var m struct {
		ID json.RawMessage `json:"id"`
	}
	if json.Unmarshal(sentMessage(req), &m) == nil && len(m.ID) > 0 {
		id := string(m.ID)
		p.id.CompareAndSwap(nil, &id)
	}
}
