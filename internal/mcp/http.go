package mcp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"sync/atomic"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// httpTransport returns the SDK's transport to the server's URL, and what ends its
// requests and closes its connections.
func httpTransport(server Server) (transport sdk.Transport, sever func()) {
	life, end := context.WithCancel(context.Background())
	base := &http.Transport{
		Proxy: http.ProxyFromEnvironment, ForceAttemptHTTP2: true,
		IdleConnTimeout: 90 * time.Second, TLSHandshakeTimeout: 10 * time.Second,
	}
	client := &http.Client{
		Transport:     carefulTripper{base: base, headers: server.Headers, life: life},
		CheckRedirect: stayThere,
	}
	return &sdk.StreamableClientTransport{Endpoint: server.URL, HTTPClient: client, MaxEventSize: mostMessage}, func() {
		end()
		base.CloseIdleConnections()
	}
}

// stayThere refuses redirects to another host, which would be sent the headers.
func stayThere(req *http.Request, via []*http.Request) error {
	from := via[0].URL
	if req.URL.Host != from.Host || req.URL.Scheme != from.Scheme {
		return fmt.Errorf("it redirects to %s://%s: give that address as its url, if it is right", req.URL.Scheme, req.URL.Host)
	}
	if len(via) >= 10 {
		return errors.New("it redirects without end")
	}
	return nil
}

// carefulTripper adds the server's headers, and takes from a server only what has an
// end: it bounds what the SDK reads whole or waits for.
type carefulTripper struct {
	base    http.RoundTripper
	headers map[string]string
	life    context.Context // the connection's
}

// RoundTrip is safe for concurrent use.
func (t carefulTripper) RoundTrip(req *http.Request) (*http.Response, error) {
	req = req.Clone(req.Context())
	for name, value := range t.headers {
		req.Header.Set(name, value)
	}
	resp, err := t.answer(req)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode == http.StatusNotFound {
		noteRefusal(req.Context())
	}
	if resp.StatusCode == http.StatusUnauthorized || resp.StatusCode == http.StatusForbidden {
		resp.Body.Close()
		return nil, fmt.Errorf("it answers %s: give it its key under headers", resp.Status)
	}
	// Of an error the SDK reads all, whatever it calls itself.
	kind, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if err != nil || kind != "text/event-stream" || resp.StatusCode < 200 || resp.StatusCode > 299 {
		resp.Body = &boundedBody{ReadCloser: resp.Body, left: mostMessage}
	}
	return resp, nil
}

type refusalKey struct{}

// withRefusal returns a context in which a request that the server does not take, since
// it does not know the session, is noted.
func withRefusal(ctx context.Context, refused *atomic.Bool) context.Context {
	return context.WithValue(ctx, refusalKey{}, refused)
}

func noteRefusal(ctx context.Context) {
	if refused, ok := ctx.Value(refusalKey{}).(*atomic.Bool); ok {
		refused.Store(true)
	}
}

// answer sends a request that ends with the life of the connection, and answers for the
// server if it lets a GET wait: the SDK would wait for either without end.
func (t carefulTripper) answer(req *http.Request) (*http.Response, error) {
	ctx, cancel := context.WithCancelCause(req.Context())
	stop := context.AfterFunc(t.life, func() { cancel(context.Canceled) })
	free := func() { stop(); cancel(nil) }
	if req.Method == http.MethodGet {
		limit := time.AfterFunc(listenLimit, func() { cancel(errSilent) })
		defer limit.Stop()
	}
	resp, err := t.base.RoundTrip(req.WithContext(ctx))
	switch {
	case errors.Is(context.Cause(ctx), errSilent):
		if err == nil {
			resp.Body.Close()
		}
		free()
		return noStream(req), nil
	case err != nil:
		free()
		return nil, err
	}
	resp.Body = &cancellingBody{resp.Body, free}
	return resp, nil
}

// noStream is what a server answers that has nothing to say unasked (MCP, transports,
// streamable HTTP).
func noStream(req *http.Request) *http.Response {
	return &http.Response{
		Status: "405 Method Not Allowed", StatusCode: http.StatusMethodNotAllowed,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{}, Body: http.NoBody, Request: req,
	}
}

var errSilent = errors.New("no answer")

// cancellingBody frees a request's context when it is closed.
type cancellingBody struct {
	io.ReadCloser
	free func()
}

func (b *cancellingBody) Close() error {
	b.free()
	return b.ReadCloser.Close()
}

// boundedBody is a body that fails when it is too long.
type boundedBody struct {
	io.ReadCloser
	left int
}

func (b *boundedBody) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, errors.New(tooLong)
	}
	n, err := b.ReadCloser.Read(p[:min(len(p), b.left)])
	b.left -= n
	return n, err
}
