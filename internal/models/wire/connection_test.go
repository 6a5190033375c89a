package wire

import (
	"bufio"
	"context"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/massgen/massgen/backends"
)

// failed is how a request to an address ends.
func failed(t *testing.T, address string) *backends.Error {
	t.Helper()
	return failedBy(t, Config{Provider: "test", BaseURL: address})
}

func failedBy(t *testing.T, c Config) *backends.Error {
	t.Helper()
	s, err := NewService(c)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	_, err = s.Get(t.Context(), func(ctx context.Context) error {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.BaseURL, http.NoBody)
		if err != nil {
			return err
		}
		resp, err := s.Client().Do(req)
		if err == nil {
			err = resp.Body.Close()
		}
		return err
	})
	var e *backends.Error
	if !errors.As(err, &e) {
		t.Fatalf("%s: %v is no failure of a service", c.BaseURL, err)
	}
	return e
}

// TestSwitchedProtocol: after it nothing has an end, neither by the context nor by a limit. The
// connection is closed at once.
func TestSwitchedProtocol(t *testing.T) {
	t.Parallel()
	closed := make(chan struct{}, 1)
	address := served(t, func(conn net.Conn) {
		if _, err := http.ReadRequest(bufio.NewReader(conn)); err != nil {
			t.Error(err)
		}
		if _, err := io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: other\r\n\r\n"); err != nil {
			t.Error(err)
		}
		_, _ = io.Copy(io.Discard, conn) // until the client closes it, in whatever way
		closed <- struct{}{}
	})
	if e := failed(t, "http://"+address); e.Status != http.StatusSwitchingProtocols || e.Retryable() || !strings.Contains(e.Message, "another protocol") {
		t.Errorf("%+v", e)
	}
	<-closed
}

// drip is a body that comes a byte in a second, without end, until its context is done.
type drip struct{ ctx context.Context }

func (d drip) Read(p []byte) (int, error) {
	select {
	case <-time.After(time.Second):
		p[0] = 'x'
		return 1, nil
	case <-d.ctx.Done():
		return 0, d.ctx.Err()
	}
}

func (drip) Close() error { return nil }

type dripping struct{}

func (dripping) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusInternalServerError, Header: http.Header{}, Body: drip{r.Context()}, Request: r}, nil
}

// TestErrorThatComesInDrops is waited for no longer than an error may take.
func TestErrorThatComesInDrops(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		e := failedBy(t, Config{Provider: "test", BaseURL: "http://host", Transport: dripping{}})
		if took := time.Since(began); took > time.Second+errorTimeout || !e.Retryable() {
			t.Errorf("after %v: %+v", took, e)
		}
	})
}

// served is the address of a server that has each connection.
func served(t *testing.T, serve func(net.Conn)) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			serve(conn)
			conn.Close()
		}
	}()
	t.Cleanup(func() {
		listener.Close()
		<-done
	})
	return listener.Addr().String()
}

// TestFailedHandshake sent nothing, and cost nothing. It is tried again only if that may help.
func TestFailedHandshake(t *testing.T) {
	t.Parallel()
	plain := httptest.NewServer(http.NotFoundHandler())
	defer plain.Close()
	untrusted := httptest.NewUnstartedServer(http.NotFoundHandler())
	untrusted.Config.ErrorLog = log.New(io.Discard, "", 0)
	untrusted.StartTLS()
	defer untrusted.Close()
	for name, c := range map[string]struct {
		address   string
		retryable bool
	}{
		"no TLS":                    {strings.Replace(plain.URL, "http://", "https://", 1), false},
		"a certificate of nobody's": {untrusted.URL, false},
		"broken off in the midst": {"https://" + served(t, func(conn net.Conn) {
			if _, err := io.ReadFull(conn, make([]byte, 5)); err != nil {
				t.Error(err)
			}
		}), true},
	} {
		if e := failed(t, c.address); !e.Unbilled() || e.Retryable() != c.retryable {
			t.Errorf("%s: unbilled %t, retryable %t: %+v", name, e.Unbilled(), e.Retryable(), e)
		}
	}
}
