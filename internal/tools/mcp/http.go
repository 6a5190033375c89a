package mcp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/massgen/massgen/internal/system/httpclient"
	"github.com/massgen/massgen/internal/system/sleep"
)

// httpLink is a connection to the server's URL.
type httpLink struct {
	transport sdk.Transport
	// sever closes the connections, which ends their requests.
	sever func()
	// posted has the status of the first request, 0 before its answer.
	posted *atomic.Int32
}

// newHTTPLink returns a link over streamable HTTP, or over the older transport HTTP+SSE.
func newHTTPLink(server Server, older bool) httpLink {
	life, end := context.WithCancel(context.Background())
	base := newBase(func(_ context.Context, network, address string) (net.Conn, error) {
		conn, err := new(net.Dialer).DialContext(life, network, address)
		if err != nil {
			return nil, err
		}
		return severable{conn, context.AfterFunc(life, func() { _ = conn.Close() })}, nil // it may have been closed before
	}, server.CallTimeout)
	link := httpLink{sever: end, posted: &atomic.Int32{}}
	tripper := carefulTripper{
		base: base, home: server.URL, headers: server.Headers, listening: &listening{}, questions: newQuestions(life), older: older, posted: link.posted,
	}
	if older {
		client := httpclient.New(tripper, "its url")
		link.transport = &sdk.SSEClientTransport{Endpoint: server.URL, HTTPClient: client, MaxEventSize: mostMessage}
	} else {
		client := httpclient.New(streamTripper{tripper}, "its url")
		link.transport = &sdk.StreamableClientTransport{Endpoint: server.URL, HTTPClient: client, MaxEventSize: mostMessage}
	}
	return link
}

// newBase returns the transport of a server whose calls have a limit. A connection that dies in a
// call is closed before that limit.
func newBase(dial func(ctx context.Context, network, address string) (net.Conn, error), limit time.Duration) *http.Transport {
	base := httpclient.NewTransport(httpclient.HTTP2Limits(limit))
	base.DialContext = dial
	return base
}

// severable is a connection that a function closes, unless it is closed before.
type severable struct {
	net.Conn
	forget func() bool // the function
}

// Close implements net.Conn.
func (c severable) Close() error {
	c.forget()
	return c.Conn.Close()
}

// carefulTripper adds the server's headers, repairs messages, and limits the size of answers that the SDK
// reads whole, and the time that it waits for them.
type carefulTripper struct {
	base      http.RoundTripper
	home      string // the server's URL
	headers   map[string]string
	listening *listening
	questions *questions
	older     bool          // the transport is HTTP+SSE
	posted    *atomic.Int32 // the status of the first POST
}

// RoundTrip is safe for concurrent use. The answer to a question of the server is over when its response is
// closed.
func (t carefulTripper) RoundTrip(req *http.Request) (*http.Response, error) {
	id, kind := headOf(sentMessage(req))
	if kind != isAnswer {
		return t.exchange(req)
	}
	release := t.questions.hold(id)
	resp, err := t.exchange(req)
	if err != nil {
		release()
		return nil, err
	}
	resp.Body = endingBody{resp.Body, release}
	return resp, nil
}

// exchange sends a request and returns its response, repaired and bounded.
func (t carefulTripper) exchange(req *http.Request) (*http.Response, error) {
	req = req.Clone(req.Context())
	if err := t.checkOrigin(req.URL); err != nil {
		return nil, err
	}
	req.GetBody = nil // over HTTP/2 net/http would send a call again as often as a server resets it
	for name, value := range t.headers {
		req.Header.Set(name, value)
	}
	resp, err := t.answer(req)
	if err != nil {
		return nil, err
	}
	isListening := req.Method == http.MethodGet && !t.older
	if resp.StatusCode == http.StatusSwitchingProtocols && !isListening { // what follows is no HTTP, and no context would end it
		return nil, errors.Join(fmt.Errorf("it answers %s, which nobody asked for", resp.Status), resp.Body.Close())
	}
	if req.Method == http.MethodPost {
		t.posted.CompareAndSwap(0, int32(resp.StatusCode))
		if t.older || req.Header.Get(sessionHeader) != "" {
			lost, err := isLost(resp)
			if err != nil {
				return nil, err
			}
			if lost {
				recordRefusal(req.Context())
				return asLost(resp), nil
			}
		}
	}
	switch resp.StatusCode {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusSwitchingProtocols:
		resp.Body.Close()
		if isListening {
			return noStream(req), nil // its tools may need no key
		}
		return nil, fmt.Errorf("it answers %s: give it its key under headers", resp.Status)
	}
	// The SDK reads the whole body of an error, whatever its type.
	kind, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	isGood := resp.StatusCode >= 200 && resp.StatusCode <= 299
	switch {
	case isGood && err == nil && kind == eventStream:
		resp.Body = newEventBody(resp.Body, t.admitter(req))
	case isGood && err == nil && kind == jsonMessage, isGood && isJSON(req, resp):
		resp.Header.Set("Content-Type", jsonMessage)
		resp.Body = &jsonBody{ReadCloser: http.MaxBytesReader(nil, resp.Body, mostMessage), admit: t.admitter(req)}
	default:
		resp.Body = http.MaxBytesReader(nil, resp.Body, mostMessage)
	}
	return resp, nil
}

// admitter returns the function that waits until a message of a response may be passed on.
func (t carefulTripper) admitter(req *http.Request) func(message []byte) error {
	return func(message []byte) error { return t.questions.admit(req.Context(), message) }
}

// checkOrigin refuses the address of another host: a server of the older transport names the address for
// messages itself, and the request has the headers of this one.
func (t carefulTripper) checkOrigin(to *url.URL) error {
	home, err := url.Parse(t.home)
	if err != nil || t.home == "" {
		return err
	}
	if to.Host != home.Host || to.Scheme != home.Scheme {
		return fmt.Errorf("it names the address %s://%s for its messages: give that address as its url, if it is right", to.Scheme, to.Host)
	}
	return nil
}

// answer sends a request. If the server lets a GET wait, also for a connection, it answers for the
// server: the SDK would wait without end.
func (t carefulTripper) answer(req *http.Request) (*http.Response, error) {
	if req.Method != http.MethodGet {
		return t.base.RoundTrip(req)
	}
	if err := t.listening.pause(req.Context()); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(req.Context())
	timer := time.AfterFunc(listenLimit, cancel)
	resp, err := t.base.RoundTrip(req.WithContext(ctx))
	isSilent := !timer.Stop() && req.Context().Err() == nil
	if err != nil || isSilent {
		cancel()
	}
	switch {
	case isSilent && err == nil:
		resp.Body.Close()
		return noStream(req), nil
	case isSilent:
		return noStream(req), nil
	case err != nil:
		return nil, err
	}
	resp.Body = endingBody{resp.Body, cancel}
	return resp, nil
}

// listening paces the requests for a server's stream. The SDK requests the stream again as soon as it
// ends, even if the server ends it at once. It is safe for concurrent use.
type listening struct {
	mu    sync.Mutex
	last  time.Time // when the stream was last asked for
	again int       // requests in a row, each within mostListenPause of the one before
}

// pause waits until the stream may be asked for.
func (l *listening) pause(ctx context.Context) error {
	l.mu.Lock()
	if time.Since(l.last) > mostListenPause {
		l.again = 0
	}
	var pause time.Duration
	if more := l.again - freeListens; more >= 0 {
		pause = min(time.Second<<min(more, 10), mostListenPause)
	}
	l.again++
	l.last = time.Now().Add(pause)
	l.mu.Unlock()
	return sleep.For(ctx, pause)
}

// endingBody calls a function when it is closed.
type endingBody struct {
	io.ReadCloser
	end func()
}

// Close implements io.Closer.
func (b endingBody) Close() error {
	defer b.end()
	return b.ReadCloser.Close()
}

// noStream returns the answer of a server without messages of its own (MCP, transports, streamable
// HTTP).
func noStream(req *http.Request) *http.Response {
	return &http.Response{
		Status: "405 Method Not Allowed", StatusCode: http.StatusMethodNotAllowed,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{}, Body: http.NoBody, Request: req,
	}
}
