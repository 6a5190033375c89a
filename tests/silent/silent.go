// Package silent has a service whose connections fall silent when a test says so. They are
// pipes in memory, so that a test in a bubble of testing/synctest waits for no real time.
package silent

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
)

// Service speaks HTTP/2 over TLS.
type Service struct {
	server *httptest.Server
	dialed chan net.Conn
	closed chan struct{}
	close  sync.Once

	mu    sync.Mutex
	conns []*conn
}

// Serve starts a service, which t ends.
func Serve(t *testing.T, handler http.Handler) *Service {
	t.Helper()
	s := &Service{
		server: httptest.NewUnstartedServer(handler),
		dialed: make(chan net.Conn), closed: make(chan struct{}),
	}
	address := s.server.Listener.Addr()
	if err := s.server.Listener.Close(); err != nil {
		t.Fatal(err)
	}
	s.server.Listener = listener{s, address}
	s.server.EnableHTTP2 = true
	// A pipe has no buffer: tickets would wait for a client that is still writing.
	s.server.TLS = &tls.Config{SessionTicketsDisabled: true, MinVersion: tls.VersionTLS13}
	s.server.StartTLS()
	t.Cleanup(func() {
		s.each(func(c *conn) { _ = c.Close() }) // the server waits for them
		s.server.Close()
	})
	return s
}

// Answer is what DiesOnce replies to all requests but the first.
const Answer = "the answer"

// DiesOnce starts a service whose connection dies without a word in its first request, once
// begin has written what it wants to the response.
func DiesOnce(t *testing.T, begin func(http.ResponseWriter)) *Service {
	t.Helper()
	var s *Service
	var killed atomic.Bool
	s = Serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if killed.Swap(true) {
			_, _ = io.WriteString(w, Answer) // the test asserts what arrived
			return
		}
		begin(w)
		s.Kill()
		<-r.Context().Done()
	}))
	return s
}

// StopsReading starts a service that reads nothing more once a request came, and sends a body
// without an end.
func StopsReading(t *testing.T) *Service {
	t.Helper()
	var s *Service
	s = Serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		s.Stall()
		for part := make([]byte, 32<<10); ; { // more than a client takes before it writes
			if _, err := w.Write(part); err != nil {
				return
			}
		}
	}))
	return s
}

// URL is the address that Connect leads to the service.
func (s *Service) URL() string { return s.server.URL }

// Connect has a transport reach the service, and trust it. It returns the transport.
func (s *Service) Connect(transport *http.Transport) *http.Transport {
	roots := s.server.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs
	transport.TLSClientConfig = &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS13}
	transport.DialContext = s.dial
	return transport
}

// Kill lets the connections of now die without a word: what is written to them vanishes.
func (s *Service) Kill() { s.each(func(c *conn) { c.dead.Store(true) }) }

// Stall reads nothing more from the connections of now, and still writes to them.
func (s *Service) Stall() { s.each(func(c *conn) { c.stalled.Store(true) }) }

func (s *Service) each(do func(*conn)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.conns {
		do(c)
	}
}

func (s *Service) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	near, far := net.Pipe()
	c := &conn{Conn: far, closed: make(chan struct{})}
	select {
	case s.dialed <- c:
		s.mu.Lock()
		defer s.mu.Unlock()
		s.conns = append(s.conns, c)
		return near, nil
	case <-s.closed:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// listener accepts what is dialed.
type listener struct {
	service *Service
	address net.Addr
}

func (l listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.service.dialed:
		return c, nil
	case <-l.service.closed:
		return nil, net.ErrClosed
	}
}

func (l listener) Close() error {
	l.service.close.Do(func() { close(l.service.closed) })
	return nil
}

func (l listener) Addr() net.Addr { return l.address }

// conn is the service's end of a connection.
type conn struct {
	net.Conn
	dead, stalled atomic.Bool
	closed        chan struct{}
	close         sync.Once
}

func (c *conn) Read(p []byte) (int, error) {
	for {
		if c.stalled.Load() {
			<-c.closed
			return 0, net.ErrClosed
		}
		n, err := c.Conn.Read(p)
		if err != nil || !c.dead.Load() {
			return n, err
		}
	}
}

func (c *conn) Write(p []byte) (int, error) {
	if c.dead.Load() {
		return len(p), nil
	}
	return c.Conn.Write(p)
}

func (c *conn) Close() error {
	c.close.Do(func() { close(c.closed) })
	return c.Conn.Close()
}
