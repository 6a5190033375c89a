package mcp

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// tripper is a http.RoundTripper.
type tripper func(*http.Request) (*http.Response, error)

func (t tripper) RoundTrip(req *http.Request) (*http.Response, error) { return t(req) }

// A server that lets the request for its stream wait, be it for a connection, has none.
func TestAServerThatDoesNotAnswerHasNoStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		waits := tripper(func(req *http.Request) (*http.Response, error) {
			<-req.Context().Done()
			return nil, req.Context().Err()
		})
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://docs.example.com/mcp", nil)
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		resp, err := carefulTripper{base: waits}.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if took := time.Since(began); resp.StatusCode != http.StatusMethodNotAllowed || took != listenLimit {
			t.Errorf("%s after %s", resp.Status, took)
		}
	})
}

// A stream that has begun may be silent for as long as it likes.
func TestAStreamLastsBeyondTheLimitOfItsBeginning(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		answers := tripper(func(req *http.Request) (*http.Response, error) {
			body := io.NopCloser(io.MultiReader(later{req, 10 * listenLimit}, strings.NewReader("data: late\n\n")))
			return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: body}, nil
		})
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://docs.example.com/mcp", nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := carefulTripper{base: answers}.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		if closeErr := resp.Body.Close(); err != nil || closeErr != nil || string(body) != "data: late\n\n" {
			t.Errorf("%q, %v", body, errors.Join(err, closeErr))
		}
	})
}

// later reads nothing, and not before a time is over or its request is.
type later struct {
	req   *http.Request
	after time.Duration
}

func (l later) Read([]byte) (int, error) {
	select {
	case <-l.req.Context().Done():
		return 0, l.req.Context().Err()
	case <-time.After(l.after):
		return 0, io.EOF
	}
}
