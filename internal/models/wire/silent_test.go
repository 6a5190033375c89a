package wire

import (
	"errors"
	"io"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/tests/silent"
)

// serviceOf returns a Service with a transport of its own, which reaches a silent service.
func serviceOf(t *testing.T, far *silent.Service, c Config) *Service {
	t.Helper()
	c.Provider, c.BaseURL = "test", far.URL()
	s, err := NewService(c)
	if err != nil {
		t.Fatal(err)
	}
	far.Connect(s.Transport.(*http.Transport))
	t.Cleanup(func() { s.Close() })
	return s
}

// A connection that died without a word costs the attempt that finds out, and no other.
func TestSilentConnectionIsNotUsedAgain(t *testing.T) {
	for name, c := range map[string]Config{
		"the first byte is limited":    {FirstByteTimeout: 3 * time.Second, IdleTimeout: -1},
		"only the silence after it is": {FirstByteTimeout: -1, IdleTimeout: 3 * time.Second},
		"both have their defaults":     {},
		"neither is limited":           {FirstByteTimeout: -1, IdleTimeout: -1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				far := silent.DiesOnce(t, func(w http.ResponseWriter) {
					_, _ = io.WriteString(w, "a part of it")
					if c.FirstByteTimeout <= 0 {
						_ = http.NewResponseController(w).Flush()
						synctest.Wait()
					}
				})
				s := serviceOf(t, far, c)
				_, err := exchanged(t, s)
				var failed *backends.Error
				if !errors.As(err, &failed) || !failed.Retryable() {
					t.Errorf("the first attempt: %v", err)
				}
				if body, err := exchanged(t, s); string(body) != silent.Answer {
					t.Errorf("the second attempt: %q, %v", body, err)
				}
			})
		})
	}
}

// A service that reads nothing holds a call in a write, which no context ends: only the limit
// of the connection does.
func TestServiceThatStopsReadingHoldsNoCall(t *testing.T) {
	t.Parallel()
	far := silent.StopsReading(t)
	s := serviceOf(t, far, Config{FirstByteTimeout: -1, IdleTimeout: 300 * time.Millisecond})
	if body, err := exchanged(t, s); err == nil { // it may have been cut off before it had begun
		t.Errorf("an answer of %d bytes", len(body))
	}
}
