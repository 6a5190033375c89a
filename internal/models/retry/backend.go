package retry

import (
	"context"
	"errors"
	"iter"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/massgen/massgen/backends"
)

// The limits of the zero Options.
const (
	DefaultMaxAttempts = 4
	DefaultMaxTime     = 2 * time.Minute
)

// The ceiling of the wait doubles from the first to the longest.
const (
	firstCeiling   = time.Second
	longestCeiling = 30 * time.Second
)

// Options say how long to go on. The zero Options are the defaults.
type Options struct {
	// MaxAttempts is the most attempts of a call, the first included. 1 repeats nothing, 0
	// means the default.
	MaxAttempts int
	// MaxTime is how long after its first attempt a call may send another. It never cuts
	// off a running attempt. 0 means the default.
	MaxTime time.Duration
	// Random returns a number in [0, 1) for each wait, concurrently. Nil means that of
	// math/rand/v2.
	Random func() float64
	// Most returns what an attempt costs at most, for the budget of the context. Nil
	// means an estimate of its tokens, at an unknown price.
	Most func(backends.Request) backends.Cost
	// OwnLimit reports whether the requests' output limits are the program's own, which nobody
	// asked for. If the service refuses one, the call goes out once more with a limit that fits.
	OwnLimit bool
	// Watch gets what happens to the calls. It may be nil.
	Watch *Watch
}

// Backend repeats the calls of another backend. It is safe for concurrent use.
type Backend struct {
	inner   backends.Backend
	gate    *Gate
	options Options
	// small has the window of each model whose window is no larger than the program's own limit.
	small sync.Map
}

// New returns a backend that calls inner through gate. It calls inner once for each
// attempt, under the same key. A wrapper that has to see each attempt, such as a
// recorder, goes around inner.
func New(inner backends.Backend, gate *Gate, o Options) *Backend {
	if o.MaxAttempts == 0 {
		o.MaxAttempts = DefaultMaxAttempts
	}
	if o.MaxTime == 0 {
		o.MaxTime = DefaultMaxTime
	}
	if o.Random == nil {
		o.Random = rand.Float64
	}
	if o.Most == nil {
		o.Most = func(req backends.Request) backends.Cost { return backends.Cost{Tokens: estimate(req)} }
	}
	return &Backend{inner: inner, gate: gate, options: o}
}

// Reserves reports that each attempt is reserved with the budget of its context.
func (b *Backend) Reserves() bool { return true }

// Stream sends the request until an attempt succeeds or cannot be repeated: waiting
// does not cure its error, a part of the answer had come, or the options
// allow no other. Waits have full jitter, on top of what the provider asks for.
// Trace.Retry gets each repetition, except the one that only lowers the program's own output limit.
// While the breaker of the gate is open the call fails at once. Stream continues an answer that the
// provider pauses for its own tools. The stream can be read once.
func (b *Backend) Stream(ctx context.Context, req backends.Request) iter.Seq2[backends.Event, error] {
	first := &call{Backend: b, ctx: ctx, req: req}
	return func(yield func(backends.Event, error) bool) {
		var err error
		began := time.Now()
		first.options.Watch.begun(first.gate.provider, first.req)
		defer func() {
			first.options.Watch.ended(first.gate.provider, first.req, time.Since(began), first.used, err)
		}()
		if first.req.Params.Hosted.Any() {
			err = (&answer{yield: yield}).run(first)
		} else {
			first.yield = yield
			err = first.run()
		}
		if err != nil && !errors.Is(err, errStopped) {
			yield(nil, err)
		}
	}
}

// errStopped ends an attempt whose reader broke out of its loop.
var errStopped = errors.New("the reader stopped")
