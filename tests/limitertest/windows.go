package limitertest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/internal/models/retry"
)

// What a random run has: so many at a time in each of two processes make so many
// attempts each.
const (
	callers  = 3
	attempts = 4
)

// booked is an attempt as it was booked.
type booked struct {
	at     time.Time
	tokens int
}

// windowsHold has two processes make attempts of random sizes at random times: in no
// minute, wherever it begins, there are more requests or tokens than the limits allow,
// and never more attempts at a time.
func windowsHold(t *testing.T, s Suite) {
	for seed := range s.Seeds {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
			random := rand.New(rand.NewPCG(seed, 0))
			l := retry.Limits{
				Concurrent: random.IntN(5), RequestsPerMinute: 8 + random.IntN(9), TokensPerMinute: random.IntN(2) * (200 + random.IntN(200)),
			}
			s.in(t, l, s.Short, func(t *testing.T, of [2]retry.Limiter) {
				list, most := s.play(t, of, l, seed)
				if l.Concurrent > 0 && most > l.Concurrent {
					t.Errorf("%d at a time, and the limits are %+v", most, l)
				}
				checkWindows(t, list, s.Short, l)
			})
		})
	}
}

// play makes the attempts of a run, and returns when they were booked, and how many ran
// at a time.
func (s Suite) play(t *testing.T, of [2]retry.Limiter, l retry.Limits, seed uint64) (list []booked, most int) {
	var mu sync.Mutex
	var running atomic.Int64
	var wg sync.WaitGroup
	for i := range 2 * callers {
		random := rand.New(rand.NewPCG(seed, uint64(1+i)))
		wg.Go(func() {
			for range attempts {
				tokens := 1 + random.IntN(max(l.TokensPerMinute, 4)/4)
				r, err := of[i%2].Reserve(t.Context(), tokens)
				if err != nil {
					t.Error(err)
					return
				}
				now := int(running.Add(1))
				at := s.Booked(t, r)
				mu.Lock()
				list, most = append(list, booked{at, tokens}), max(most, now)
				mu.Unlock()
				<-time.After(time.Duration(random.Int64N(int64(s.Short / 10)))) // so long it takes
				running.Add(-1)
				r.Settle(&backends.Usage{OutputTokens: tokens})
			}
		})
	}
	wg.Wait()
	return list, most
}

// checkWindows looks at the minute that begins with each attempt.
func checkWindows(t *testing.T, list []booked, minute time.Duration, l retry.Limits) {
	slices.SortFunc(list, func(a, b booked) int { return a.at.Compare(b.at) })
	for i, first := range list {
		requests, tokens := 0, 0
		for _, b := range list[i:] {
			if b.at.Sub(first.at) < minute {
				requests, tokens = requests+1, tokens+b.tokens
			}
		}
		if requests > l.RequestsPerMinute || l.TokensPerMinute > 0 && tokens > l.TokensPerMinute {
			t.Errorf("%d requests of %d tokens in a minute, and the limits are %+v", requests, tokens, l)
			return
		}
	}
}
