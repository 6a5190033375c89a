package wire

import (
	"context"
	"errors"
	"testing"

	"github.com/massgen/massgen/backends"
)

// TestNothingSentCostsNothing: what a call ends with before its request is on the
// wire is told apart from what may have been billed.
func TestNothingSentCostsNothing(t *testing.T) {
	s, err := NewService(Config{Provider: "test", BaseURL: "http://localhost:1"})
	if err != nil {
		t.Fatal(err)
	}
	over, cancel := context.WithCancel(t.Context())
	cancel()
	unsent, sent := s.begin(over, nil), s.begin(over, nil)
	defer unsent.end()
	defer sent.end()
	sent.sent = true
	for name, c := range map[string]struct {
		err  error
		want bool
	}{
		"a request that cannot be made": {s.LocalError(errors.New("no such parameter")), true},
		"cancelled before it was sent":  {unsent.fail(context.Canceled, false), true},
		"cancelled after it was sent":   {sent.fail(context.Canceled, false), false},
	} {
		var e *backends.Error
		if !errors.As(c.err, &e) || e.Unbilled() != c.want {
			t.Errorf("%s: unbilled is not %t: %+v", name, c.want, e)
		}
	}
}

// TestPort: net/url takes any digits for one.
func TestPort(t *testing.T) {
	for url, want := range map[string]bool{
		"http://localhost:65535/v1": true,
		"http://localhost:/v1":      true,
		"http://[::1]:8000/v1":      true,
		"http://localhost:65536/v1": false,
		"https://[::1]:99999999999": false,
	} {
		if _, err := NewService(Config{Provider: "test", BaseURL: url}); (err == nil) != want {
			t.Errorf("%s: %v", url, err)
		}
	}
}
