package retry_test

import (
	"context"
	"errors"
	"iter"
	"sync"
	"testing"
	"time"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/tests/leaks"
)

func TestMain(m *testing.M) { leaks.Main(m) }

// outcome is what an attempt does: it takes its time, yields a piece of text if it
// has one, and ends with its error or well.
type outcome struct {
	takes time.Duration
	text  string
	piece string // of a tool call
	usage *backends.Usage
	err   error
}

// script is a backend whose attempts do what stands in a list, in their order; the
// last one again and again.
type script struct {
	outcomes []outcome

	mu      sync.Mutex
	starts  []time.Time
	running int
	most    int
}

func (s *script) begin() outcome {
	s.mu.Lock()
	defer s.mu.Unlock()
	o := s.outcomes[min(len(s.starts), len(s.outcomes)-1)]
	s.starts = append(s.starts, time.Now())
	s.running++
	s.most = max(s.most, s.running)
	return o
}

func (s *script) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.running--
}

func (s *script) Stream(ctx context.Context, _ backends.Request) iter.Seq2[backends.Event, error] {
	return func(yield func(backends.Event, error) bool) {
		o := s.begin()
		defer s.end()
		select {
		case <-time.After(o.takes):
		case <-ctx.Done():
			yield(nil, &backends.Error{Kind: backends.KindOf(ctx.Err()), Provider: "script", Message: ctx.Err().Error(), Err: ctx.Err()})
			return
		}
		if o.piece != "" && !yield(backends.ToolCallDelta{Name: "new_answer", Text: o.piece}, nil) {
			return
		}
		if o.text != "" && !yield(backends.TextDelta{Text: o.text}, nil) {
			return
		}
		if o.usage != nil && !yield(*o.usage, nil) {
			return
		}
		if o.err != nil {
			yield(nil, o.err)
			return
		}
		yield(backends.Finish{Reason: "stop"}, nil)
	}
}

// waits returns the time from each attempt to the next.
func (s *script) waits() []time.Duration {
	var waits []time.Duration
	for i := 1; i < len(s.starts); i++ {
		waits = append(waits, s.starts[i].Sub(s.starts[i-1]))
	}
	return waits
}

func failing(kind backends.Kind) outcome { return outcome{err: failure(kind)} }

func failure(kind backends.Kind) *backends.Error {
	return &backends.Error{Kind: kind, Provider: "script", Message: "no luck"}
}

func well() outcome { return outcome{text: "fine"} }

func request() backends.Request {
	return backends.Request{
		Key:      backends.Key{Turn: 1, Agent: "a", Round: 1, Purpose: "step"},
		Messages: []backends.Message{backends.User("What is it?")},
	}
}

// call runs a request to its end and returns the error of a failure.
func call(ctx context.Context, t *testing.T, b backends.Backend) (backends.Response, *backends.Error) {
	t.Helper()
	resp, err := backends.Collect(b.Stream(ctx, request()), nil)
	var e *backends.Error
	if err != nil && !errors.As(err, &e) {
		t.Errorf("the call ended with %T %v, not with a *backends.Error", err, err)
	}
	return resp, e
}
