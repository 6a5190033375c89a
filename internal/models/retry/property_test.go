package retry_test

import (
	"context"
	"fmt"
	"iter"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/internal/models/retry"
)

// attemptSeen is what the backend inside saw of one attempt.
type attemptSeen struct {
	key    backends.Key
	start  time.Time
	tokens int
	begun  bool
}

// fickle is a backend that does anything, and keeps what it was asked for.
type fickle struct {
	seed uint64

	mu      sync.Mutex
	seen    []*attemptSeen
	running int
	most    int
}

// enter books an attempt and draws what it does. Each attempt has its own source,
// so that what it does depends on its number alone.
func (f *fickle) enter(req backends.Request) outcome {
	f.mu.Lock()
	defer f.mu.Unlock()
	random := rand.New(rand.NewPCG(f.seed, uint64(len(f.seen))))
	seen := &attemptSeen{key: req.Key, start: time.Now(), tokens: *req.Params.MaxTokens}
	f.seen = append(f.seen, seen)
	f.running++
	f.most = max(f.most, f.running)
	o := outcome{takes: time.Duration(random.IntN(5000)) * time.Millisecond}
	if random.IntN(3) == 0 {
		o.text = "x"
	}
	kinds := []backends.Kind{
		backends.KindAuth, backends.KindRateLimit, backends.KindOverloaded, backends.KindOverloaded,
		backends.KindNetwork, backends.KindNetwork, backends.KindTimeout, backends.KindBadRequest,
	}
	if n := random.IntN(len(kinds) + 2); n < len(kinds) {
		e := failure(kinds[n])
		e.Begun = random.IntN(4) == 0
		e.RetryAfter = time.Duration(random.IntN(2)*random.IntN(100)) * time.Second
		o.err = e
		seen.begun = e.Begun
	} else {
		o.usage = &backends.Usage{OutputTokens: seen.tokens}
	}
	seen.begun = seen.begun || o.text != "" || o.err == nil
	return o
}

func (f *fickle) leave() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.running--
}

func (f *fickle) Stream(ctx context.Context, req backends.Request) iter.Seq2[backends.Event, error] {
	return func(yield func(backends.Event, error) bool) {
		o := f.enter(req)
		defer f.leave()
		(&script{outcomes: []outcome{o}}).Stream(ctx, req)(yield)
	}
}

// TestProperties lets some agents make calls at one gate, and checks what has to
// hold of every run: no call has more attempts than it may, none is repeated that
// had begun, none begins too late, and the limits of the gate hold.
func TestProperties(t *testing.T) {
	t.Parallel()
	attempts := 0
	rapid.Check(t, func(r *rapid.T) {
		limits := retry.Limits{
			Concurrent:        rapid.IntRange(0, 4).Draw(r, "concurrent"),
			RequestsPerMinute: rapid.IntRange(0, 30).Draw(r, "requests"),
			TokensPerMinute:   rapid.SampledFrom([]int{0, 400, 1000}).Draw(r, "tokens"),
			Failures:          rapid.SampledFrom([]int{-1, -1, 1, 3, 12}).Draw(r, "failures"),
		}
		options := retry.Options{
			MaxAttempts: rapid.IntRange(1, 6).Draw(r, "attempts"),
			MaxTime:     time.Duration(rapid.IntRange(1, 300).Draw(r, "seconds")) * time.Second,
		}
		agents := rapid.IntRange(1, 6).Draw(r, "agents")
		inner := &fickle{seed: rapid.Uint64().Draw(r, "seed")}
		synctest.Test(t, func(t *testing.T) {
			runAgents(t, retry.New(inner, newGate("gate", limits), options), agents, inner.seed)
		})
		attempts += len(inner.seen)
		if err := inner.violation(limits, options); err != nil {
			r.Fatal(err)
		}
	})
	t.Logf("%d attempts", attempts)
}

// runAgents lets each agent make ten calls, one after the other; some have little
// time.
func runAgents(t *testing.T, b backends.Backend, agents int, seed uint64) {
	var wg sync.WaitGroup
	for agent := range agents {
		wg.Go(func() {
			random := rand.New(rand.NewPCG(seed, uint64(1000+agent)))
			for index := range 10 {
				tokens := random.IntN(100)
				req := backends.Request{
					Key:    backends.Key{Agent: fmt.Sprint(agent), Index: index},
					Params: backends.Params{MaxTokens: &tokens},
				}
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration(1+random.IntN(600))*time.Second)
				for range b.Stream(ctx, req) {
					if random.IntN(10) == 0 {
						break
					}
				}
				cancel()
				time.Sleep(time.Duration(random.IntN(20)) * time.Second)
			}
		})
	}
	wg.Wait()
}

func (f *fickle) violation(l retry.Limits, o retry.Options) error {
	if l.Concurrent > 0 && f.most > l.Concurrent {
		return fmt.Errorf("%d attempts at a time, the limit is %d", f.most, l.Concurrent)
	}
	calls := map[backends.Key][]*attemptSeen{}
	for i, a := range f.seen {
		calls[a.key] = append(calls[a.key], a)
		requests, tokens := 0, 0
		for _, b := range f.seen[i:] {
			if b.start.Sub(a.start) < time.Minute {
				requests, tokens = requests+1, tokens+b.tokens
			}
		}
		if l.RequestsPerMinute > 0 && requests > l.RequestsPerMinute || l.TokensPerMinute > 0 && tokens > l.TokensPerMinute {
			return fmt.Errorf("%d requests of %d tokens in a minute, the limits are %+v", requests, tokens, l)
		}
	}
	for key, attempts := range calls {
		last := attempts[len(attempts)-1]
		if len(attempts) > o.MaxAttempts || last.start.Sub(attempts[0].start) > o.MaxTime {
			return fmt.Errorf("%s: %d attempts, the last after %s; the options are %+v", key, len(attempts), last.start.Sub(attempts[0].start), o)
		}
		for _, a := range attempts[:len(attempts)-1] {
			if a.begun {
				return fmt.Errorf("%s: a call that had begun was repeated", key)
			}
		}
	}
	return nil
}
