package mcp

import (
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/massgen/massgen/tests/silent"
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
		resp, err := carefulTripper{base: waits, listening: &listening{}, questions: newQuestions(context.Background()), posted: &atomic.Int32{}}.RoundTrip(req)
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
		resp, err := carefulTripper{base: answers, listening: &listening{}, questions: newQuestions(context.Background()), posted: &atomic.Int32{}}.RoundTrip(req)
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

// A call that net/http could send again by itself would be made again, over HTTP/2 as often as
// the server resets it.
func TestACallIsSentOnce(t *testing.T) {
	once := tripper(func(req *http.Request) (*http.Response, error) {
		if req.GetBody != nil {
			t.Error("the call can be sent again")
		}
		return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: http.NoBody}, nil
	})
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://docs.example.com/mcp", strings.NewReader("{}"))
	if err != nil || req.GetBody == nil {
		t.Fatal(err)
	}
	resp, err := carefulTripper{base: once, listening: &listening{}, questions: newQuestions(context.Background()), posted: &atomic.Int32{}}.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
}

// posted sends a call to a silent service as the SDK does, and returns what came of it.
func posted(t *testing.T, far *silent.Service, client *http.Client) (string, error) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, far.URL(), strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := client.Do(req)
	if err != nil {
		return "", err
	}
	body, err := io.ReadAll(resp.Body)
	return string(body), errors.Join(err, resp.Body.Close())
}

func clientOf(t *testing.T, far *silent.Service, limit time.Duration) *http.Client {
	t.Helper()
	base := newBase(nil, limit)
	t.Cleanup(base.CloseIdleConnections)
	return &http.Client{Transport: carefulTripper{base: far.Connect(base), listening: &listening{}, questions: newQuestions(context.Background()), posted: &atomic.Int32{}}}
}

// A connection that died without a word costs the call that finds out, and no other.
func TestSilentConnectionIsNotUsedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		far := silent.DiesOnce(t, func(http.ResponseWriter) {})
		client, began := clientOf(t, far, defaultCallTimeout), time.Now()
		if body, err := posted(t, far, client); err == nil || time.Since(began) > defaultCallTimeout {
			t.Errorf("the first call: %q, %v, after %v", body, err, time.Since(began))
		}
		if body, err := posted(t, far, client); body != silent.Answer {
			t.Errorf("the second call: %q, %v", body, err)
		}
	})
}

// A server that reads nothing holds a call in a write, which no context ends: only the limit of
// the connection does.
func TestServerThatStopsReadingHoldsNoCall(t *testing.T) {
	t.Parallel()
	far := silent.StopsReading(t)
	if body, err := posted(t, far, clientOf(t, far, 300*time.Millisecond)); err == nil { // it may have been cut off before it had begun
		t.Errorf("an answer of %d bytes", len(body))
	}
}

// TestStreamThatEndsAtOnceIsAskedForLater counts how often a server is asked for its stream that ends it
// each time, and that one that lasted is asked for at once.
func TestStreamThatEndsAtOnceIsAskedForLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked []time.Duration
		began := time.Now()
		ends := tripper(func(*http.Request) (*http.Response, error) {
			asked = append(asked, time.Since(began))
			return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"text/event-stream"}}, Body: http.NoBody}, nil
		})
		careful := carefulTripper{base: ends, listening: &listening{}, questions: newQuestions(context.Background()), posted: &atomic.Int32{}}
		listen := func(ctx context.Context) error {
			req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://localhost", nil)
			if err != nil {
				t.Fatal(err)
			}
			resp, err := careful.RoundTrip(req)
			if err != nil {
				return err
			}
			return resp.Body.Close()
		}
		for range 10 {
			if err := listen(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		want := []time.Duration{0, 0, 0, 1, 3, 7, 15, 31, 61, 91}
		for i := range want {
			want[i] *= time.Second
		}
		if !slices.Equal(asked, want) {
			t.Errorf("it was asked at %v, want %v", asked, want)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := listen(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a cancelled wait ends with %v", err)
		}
		time.Sleep(2*mostListenPause + time.Second)
		before := time.Now()
		if err := listen(t.Context()); err != nil || time.Since(before) != 0 {
			t.Errorf("a stream that has lasted is asked for after %v, %v", time.Since(before), err)
		}
	})
}
