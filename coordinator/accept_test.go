package coordinator

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/massgen/massgen/sessions"
)

// slowFacts are agents that agree in two seconds, and facts that take a minute.
const slowFacts = `
rules:
  - {when: {purpose: facts}, reply: {delay: 60s, text: "x"}}
  - {when: {}, reply: {delay: 1s, text: "an answer"}}
`

// TestCallerDoesNotWaitForWhatFollows: whichever goroutine plays last, play is back when the result is
// final.
func TestCallerDoesNotWaitForWhatFollows(t *testing.T) {
	for _, size := range []int{1, 3} {
		for range 20 {
			synctest.Test(t, func(t *testing.T) {
				p, _ := panelOf(t, size, slowFacts, nil, func(o *Options) { o.Facts = sun(o.Agents[0].Backend) })
				begun := time.Now()
				turn, play, err := p.Accept(t.Context(), "s", "energy")
				if err != nil {
					t.Fatal(err)
				}
				play()
				wait(t, turn)
				if took := time.Since(begun); took > 30*time.Second {
					t.Errorf("%d agents: the caller gets the result after %v", size, took)
				}
				p.Wait()
			})
		}
	}
}

// panicky is a store that panics once, at the end of a turn.
type panicky struct {
	*sessions.Memory
	hasPanicked bool
}

func (s *panicky) EndWith(ctx context.Context, id string, turn int, e sessions.Ended, events ...[]byte) error {
	if !s.hasPanicked {
		s.hasPanicked = true
		panic("no disk")
	}
	return s.Memory.EndWith(ctx, id, turn, e, events...)
}

// TestPanicReachesTheCaller: it may recover, since the turn is over with an error, and can be resumed.
func TestPanicReachesTheCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, _ := panelOf(t, 1, agree, nil, func(o *Options) { o.Store = &panicky{Memory: o.Store.(*sessions.Memory)} })
		turn, play, err := p.Accept(t.Context(), "s", "energy")
		if err != nil {
			t.Fatal(err)
		}
		func() {
			defer func() {
				if recover() == nil {
					t.Error("the panic is lost")
				}
			}()
			play()
		}()
		if _, err := turn.Wait(t.Context()); err == nil || !strings.Contains(err.Error(), "it panicked: no disk") {
			t.Errorf("the turn is over with %v", err)
		}
		p.Wait()
		resumed, err := p.Resume(t.Context(), "s")
		if err != nil {
			t.Fatal(err)
		}
		wait(t, resumed)
		p.Wait()
	})
}
