package openai

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/massgen/massgen/backends"
)

// exchange is what the transport and the caller of go-openai tell each other
// about one attempt, past the library between them. One goroutine uses it.
type exchange struct {
	overlay map[string]any
	headers map[string]string
	trace   *backends.Trace
	watch   *watchdog
	whole   bool // the answer is no stream
	sent    bool
	// failure is what the wire said and go-openai would lose; it is no *Error yet.
	failure error
	stream  *eventStream
}

type exchangeKey struct{}

func withExchange(ctx context.Context, x *exchange) context.Context {
	return context.WithValue(ctx, exchangeKey{}, x)
}

func (x *exchange) sawEndMark() bool { return x.stream != nil && x.stream.done }

// drain reads what follows the end mark, usually the end of the body, so that
// the connection can be used again. It waits only briefly: a connection that
// stays open is closed instead.
func (x *exchange) drain() {
	if x.stream == nil {
		return
	}
	x.watch.limitIdle(drainTimeout)
	if _, err := io.CopyN(io.Discard, x.stream.source, maxDrain); err != nil {
		return // either the end, or a connection that is of no more use
	}
}

const (
	drainTimeout = 50 * time.Millisecond
	maxDrain     = 8 << 10
	maxErrorBody = 64 << 10
)

// transport sends the requests of go-openai's client as they should have been
// made, and shows it the answers in the form that it can read.
type transport struct {
	base  http.RoundTripper
	query url.Values // of the base URL
}

// CloseIdleConnections closes the connections that no call uses.
func (t *transport) CloseIdleConnections() {
	if c, ok := t.base.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

// RoundTrip sends a request of an exchange.
func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	req = req.Clone(req.Context())
	if len(t.query) > 0 {
		req.URL.RawQuery = t.query.Encode()
	}
	x, ok := req.Context().Value(exchangeKey{}).(*exchange)
	if !ok {
		return nil, errors.New("a request outside of an exchange")
	}
	if err := x.prepare(req); err != nil {
		return nil, err
	}
	resp, err := t.base.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	if err := x.receive(resp); err != nil {
		return nil, err
	}
	return resp, nil
}

// prepare replaces the body, if there is one, and sets the headers.
func (x *exchange) prepare(req *http.Request) error {
	x.failure = nil // what led here, if it did, was a redirect
	for name, value := range x.headers {
		req.Header.Set(name, value)
	}
	if req.Body == nil {
		x.sent = true
		return nil
	}
	made, err := io.ReadAll(req.Body)
	if err != nil {
		return fmt.Errorf("read the request body: %w", err)
	}
	if err := req.Body.Close(); err != nil {
		return fmt.Errorf("close the request body: %w", err)
	}
	body, err := mergeBody(made, x.overlay)
	if err != nil {
		return err
	}
	req.Body = io.NopCloser(bytes.NewReader(body))
	req.GetBody = func() (io.ReadCloser, error) {
		x.trace.SentRequest(body) // net/http is about to send it once more
		return io.NopCloser(bytes.NewReader(body)), nil
	}
	req.ContentLength = int64(len(body))
	// A server may close a connection that it kept open at the very moment at which
	// it is used again. With this key, which is not sent, net/http takes a new
	// connection then, but never after a byte of an answer or on a new connection.
	req.Header["Idempotency-Key"] = []string{}
	x.sent = true
	x.trace.SentRequest(body)
	return nil
}

// receive puts the event stream between the response and go-openai, or notes
// the error that the response is.
func (x *exchange) receive(resp *http.Response) error {
	source := &watchedBody{body: resp.Body, trace: x.trace, watch: x.watch}
	if resp.StatusCode >= http.StatusOK && resp.StatusCode < http.StatusMultipleChoices {
		resp.Body = source
		if !x.whole {
			x.stream = newEventStream(source)
			resp.Body = x.stream
		}
		return nil
	}
	body, err := io.ReadAll(io.LimitReader(source, maxErrorBody))
	if closeErr := source.Close(); err == nil {
		err = closeErr
	}
	if err != nil && len(body) == 0 {
		return fmt.Errorf("read the error that came with HTTP %d: %w", resp.StatusCode, err)
	}
	x.failure = &statusError{status: resp.StatusCode, header: resp.Header, body: body}
	resp.Body = io.NopCloser(bytes.NewReader(body))
	return nil
}

// watchedBody is a response body that shows what it reads to the trace, under
// the eyes of the watchdog.
type watchedBody struct {
	body  io.ReadCloser
	trace *backends.Trace
	watch *watchdog
}

func (b *watchedBody) Read(p []byte) (int, error) {
	b.watch.waiting()
	n, err := b.body.Read(p)
	b.watch.heard(n)
	if n > 0 {
		b.trace.ReceivedChunk(p[:n])
	}
	return n, err
}

func (b *watchedBody) Close() error { return b.body.Close() }

// silence is the cause with which a watchdog ends a call.
type silence struct {
	limit time.Duration
	what  string
}

func (s *silence) Error() string { return fmt.Sprintf("%s within %s", s.what, s.limit) }

// watchdog ends a call that is silent for too long. Time in which nobody reads
// does not count, except before the first byte. One goroutine uses it.
type watchdog struct {
	cancel context.CancelCauseFunc
	timer  *time.Timer // nil when there is no limit
	idle   time.Duration
	begun  bool
}

func newWatchdog(cancel context.CancelCauseFunc, firstByte, idle time.Duration) *watchdog {
	w := &watchdog{cancel: cancel, idle: idle}
	w.start(firstByte, "no first byte of an answer")
	return w
}

func (w *watchdog) start(limit time.Duration, what string) {
	w.stop()
	if limit > 0 {
		w.timer = time.AfterFunc(limit, func() { w.cancel(&silence{limit, what}) })
	}
}

func (w *watchdog) waiting() {
	if w.begun {
		w.start(w.idle, "no more of the answer")
	}
}

func (w *watchdog) heard(bytes int) {
	w.begun = w.begun || bytes > 0
	if w.begun {
		w.stop()
	}
}

func (w *watchdog) limitIdle(limit time.Duration) {
	if w.idle <= 0 || w.idle > limit {
		w.idle = limit
	}
}

func (w *watchdog) stop() {
	if w.timer != nil {
		w.timer.Stop()
		w.timer = nil
	}
}
