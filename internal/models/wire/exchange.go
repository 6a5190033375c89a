package wire

import (
	"bytes"
	"context"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/url"
	"sync/atomic"
	"time"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/internal/system/httpclient"
)

// exchange is a request and its answer. Through it the transport and the caller of a
// library reach each other, past the library between them. One goroutine uses it.
type exchange struct {
	// body takes the place of a request's body.
	body Encoded
	// kept is the answer, which the library does not see.
	kept *watchedBody

	service *Service
	parent  context.Context
	ctx     context.Context
	cancel  context.CancelCauseFunc
	headers map[string]string
	trace   *backends.Trace
	watch   *watchdog
	sent    bool
	// connected reports whether there was a connection to send the request on, and refusedTLS whether
	// the last TLS handshake failed. net/http may use another connection than the one it made.
	connected, refusedTLS atomic.Bool
	// connections counts the connections that net/http took for this hop of the request, and
	// sentAgain reports whether it has sent the hop's body twice. A redirect begins a hop.
	connections atomic.Int32
	sentAgain   atomic.Bool
	// failure is what the wire said and the library would lose.
	failure error
}

// errSentTwice ends an attempt that net/http would go on sending: over HTTP/2 it answers certain
// resets with the request once more, without a pause and without an end.
var errSentTwice = errors.New("the service has broken the request off twice")

type exchangeKey struct{}

// open has the library send the request with a context that ends with the caller's, and
// when the service is silent for too long. If it does not fail, there is an answer.
func (x *exchange) open(send func(ctx context.Context) error) error {
	err := send(x.ctx)
	switch {
	case x.failure != nil:
		return x.failure // a library may take a redirect for a success
	case x.kept == nil:
		return err
	}
	return nil // the library may miss what was kept from it
}

// end releases what the exchange holds. The body of its answer is closed by then.
func (x *exchange) end() {
	x.watch.stop()
	x.cancel(nil)
}

// TrailerTimeout is how long to wait for usage and end mark after a finish reason:
// the answer is whole by then.
const TrailerTimeout = 5 * time.Second

// drain reads what follows the end of an answer, usually the end of the body, so
// that the connection can be used again. It waits only briefly: a connection that
// stays open is closed instead.
func (x *exchange) drain() {
	x.watch.limitRest(drainTimeout)
	if _, err := io.CopyN(io.Discard, x.kept, maxDrain); err != nil {
		return // either the end, or a connection that is of no more use
	}
}

const (
	drainTimeout = 50 * time.Millisecond
	maxDrain     = 8 << 10
	maxErrorBody = 64 << 10
	// errorTimeout is how long the body of an error may take after its status.
	errorTimeout = 10 * time.Second
)

// transport sends the requests of a library as they should have been made, and
// shows it the answers in the form that it can read.
type transport struct {
	base  http.RoundTripper
	home  *url.URL   // the base URL
	query url.Values // of the base URL
}

// CloseIdleConnections closes the connections that no call uses.
func (t *transport) CloseIdleConnections() {
	if c, ok := t.base.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

// RoundTrip sends a request of an exchange. Where a redirect leads to another origin, or to
// one without TLS, nothing is sent: neither the conversation nor a secret, which may stand
// anywhere in a body.
func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	req = req.Clone(req.Context())
	x, ok := req.Context().Value(exchangeKey{}).(*exchange)
	if !ok {
		return nil, errors.New("a request outside of an exchange")
	}
	if !httpclient.IsSameOrigin(t.home, req.URL) {
		x.failure = &httpclient.StrayError{Setting: baseURLSetting, From: t.home, To: req.URL}
		return nil, x.failure
	}
	x.prepare(req)
	x.setHeaders(req.Header)
	t.addQuery(req.URL)
	resp, err := t.base.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	if err := x.receive(req.URL, resp); err != nil {
		return nil, err
	}
	return resp, nil
}

// addQuery adds the query of the base URL to what the library asks for.
func (t *transport) addQuery(to *url.URL) {
	if len(t.query) == 0 {
		return
	}
	query := to.Query()
	maps.Copy(query, t.query)
	to.RawQuery = query.Encode()
}

func (x *exchange) setHeaders(h http.Header) {
	for name, value := range x.headers {
		h.Set(name, value)
	}
}

// prepare replaces the body, if there is one.
func (x *exchange) prepare(req *http.Request) {
	x.failure = nil // what led here, if it did, was a redirect
	x.sent = true
	x.connections.Store(0)
	x.sentAgain.Store(false)
	if req.Body == nil {
		return
	}
	req.Body.Close()
	body := x.body
	req.Body = io.NopCloser(body.reader())
	req.GetBody = func() (io.ReadCloser, error) {
		if x.sentAgain.Swap(true) {
			return nil, errSentTwice
		}
		x.traceBody() // net/http is about to send it once more
		return io.NopCloser(body.reader()), nil
	}
	req.ContentLength = int64(body.size())
	// A server may close a connection that it kept open at the very moment at which
	// it is used again. With this key, which is not sent, net/http takes a new
	// connection then, but never after a byte of an answer or on a new connection.
	req.Header["Idempotency-Key"] = []string{}
	x.traceBody()
}

// traceBody passes the body to the trace, if there is one. It joins the pieces only then.
func (x *exchange) traceBody() {
	if x.trace.RequestBody != nil {
		x.trace.SentRequest(x.body.Whole())
	}
}

// receive keeps the answer from the library if it should, or notes the error that the
// response is.
func (x *exchange) receive(from *url.URL, resp *http.Response) error {
	if resp.StatusCode == http.StatusSwitchingProtocols {
		// What follows is no HTTP, and no context would end it.
		x.failure = &statusError{status: resp.StatusCode, from: from, header: resp.Header}
		err := resp.Body.Close()
		resp.Body = http.NoBody
		return err
	}
	body, err := uncompressed(resp.Body, resp.Header.Values("Content-Encoding"))
	if err != nil {
		x.failure = err
		return errors.Join(err, resp.Body.Close())
	}
	source := &watchedBody{body: body, trace: x.trace, watch: x.watch}
	if resp.StatusCode >= http.StatusOK && resp.StatusCode < http.StatusMultipleChoices {
		x.kept, resp.Body = source, http.NoBody
		return nil
	}
	x.watch.limitRest(errorTimeout)
	// The status and the headers say what to do, however little of the body comes.
	said, _ := io.ReadAll(io.LimitReader(source, maxErrorBody))
	_ = source.Close() // likewise
	refused := &statusError{status: resp.StatusCode, from: from, header: resp.Header, body: said}
	x.failure = refused
	if to, isRedirect := refused.leadsTo(); isRedirect && !httpclient.IsSameOrigin(from, to) {
		x.failure = &httpclient.StrayError{Setting: baseURLSetting, From: from, To: to}
	}
	resp.Body = io.NopCloser(bytes.NewReader(said))
	return nil
}
