package wire

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/massgen/massgen/backends"
)

// bodiless answers with a status whose body does not come: it is reset, or silent until the
// request is over.
type bodiless struct {
	status int
	reset  bool
}

func (b bodiless) RoundTrip(r *http.Request) (*http.Response, error) {
	header := http.Header{"Retry-After": {strconv.Itoa(600)}}
	return &http.Response{StatusCode: b.status, Header: header, Body: noBody{r.Context(), b.reset}, Request: r}, nil
}

type noBody struct {
	ctx   context.Context
	reset bool
}

func (b noBody) Read([]byte) (int, error) {
	if b.reset {
		return 0, io.ErrUnexpectedEOF
	}
	<-b.ctx.Done()
	return 0, b.ctx.Err()
}

func (noBody) Close() error { return nil }

// A status says what to do, also if nothing comes after it.
func TestStatusWithoutItsBody(t *testing.T) {
	for name, reset := range map[string]bool{"reset": true, "silent": false} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				e := failedCall(t, bodiless{http.StatusUnauthorized, reset})
				if e.Status != http.StatusUnauthorized || e.Kind != backends.KindAuth || e.Retryable() {
					t.Errorf("%+v", e)
				}
				e = failedCall(t, bodiless{http.StatusTooManyRequests, reset})
				if e.Status != http.StatusTooManyRequests || e.RetryAfter != 10*time.Minute {
					t.Errorf("%+v", e)
				}
				if took := time.Since(began); took > 2*errorTimeout {
					t.Errorf("two bodies were waited for %v", took)
				}
			})
		})
	}
}

// failedCall is how a call ends that has the limits of its time.
func failedCall(t *testing.T, transport http.RoundTripper) *backends.Error {
	t.Helper()
	s, err := NewService(Config{Provider: "test", BaseURL: "http://host", Transport: transport})
	if err != nil {
		t.Fatal(err)
	}
	_, err = exchanged(t, s)
	var failed *backends.Error
	if !errors.As(err, &failed) {
		t.Fatalf("%v is no failure of a service", err)
	}
	return failed
}

// What the caller did counts for more than a status.
func TestStatusOfACancelledCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, err := NewService(Config{Provider: "test", BaseURL: "http://host", Transport: bodiless{http.StatusUnauthorized, false}})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err = s.Get(ctx, func(ctx context.Context) error { return sent(ctx, s) })
		var failed *backends.Error
		if !errors.As(err, &failed) || !errors.Is(err, context.DeadlineExceeded) || failed.Status != 0 {
			t.Errorf("%v", err)
		}
	})
}

// sent sends a request to a service, as a library does.
func sent(ctx context.Context, s *Service) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.BaseURL, http.NoBody)
	if err != nil {
		return err
	}
	req.Body = io.NopCloser(http.NoBody)
	resp, err := s.Client().Do(req)
	if err != nil {
		return err
	}
	return resp.Body.Close()
}

// exchanged sends a request, and returns the body of its answer.
func exchanged(t *testing.T, s *Service) ([]byte, error) {
	t.Helper()
	x := s.begin(t.Context(), nil)
	defer x.end()
	x.body = Encoded{[]byte("{}")}
	err := x.open(func(ctx context.Context) error { return sent(ctx, s) })
	if err != nil {
		return nil, x.fail(err, false)
	}
	defer x.kept.Close()
	body, err := io.ReadAll(x.kept)
	if err != nil {
		return nil, x.fail(err, true)
	}
	return body, nil
}
