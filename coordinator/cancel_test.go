package coordinator

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/massgen/massgen/coordinator/report"
	"github.com/massgen/massgen/internal/coordination/kernel"
	"github.com/massgen/massgen/sessions"
)

// TestCancelAtEveryMoment cancels turns with something of everything in them after each
// event that is told of them. Then nothing of the turn runs any more, its session is free,
// and its journal replays. A goroutine that is left fails the bubble.
func TestCancelAtEveryMoment(t *testing.T) {
	t.Parallel()
	atEveryMoment(t, cancelAfter)
}

// atEveryMoment calls end for the turns of all replays, after each number of their events. At least five of these moments
// must have end do what it is for. more reports whether the turn had so many events.
func atEveryMoment(t *testing.T, end func(t *testing.T, p *Panel, store *sessions.Store, n int) (done, more bool)) {
	t.Helper()
	for name, run := range replays {
		t.Run(name, func(t *testing.T) {
			moments := 0
			for n, more := 1, true; more; n++ {
				synctest.Test(t, func(t *testing.T) {
					p, store := panelOf(t, 3, run.script, nil, func(o *Options) {
						o.Rules = kernel.Defaults()
						if run.change != nil {
							run.change(o)
						}
					})
					var done bool
					if done, more = end(t, p, store, n); done {
						moments++
					}
				})
				if t.Failed() {
					t.Fatalf("after event %d", n)
				}
			}
			if moments < 5 {
				t.Errorf("%d turns were ended", moments)
			}
		})
	}
}

// startedUntil begins a turn and reads its first n events, or all of them. more reports whether it had so many.
func startedUntil(t *testing.T, p *Panel, n int) (turn *Turn, more bool) {
	t.Helper()
	turn = start(t, p, "energy")
	seen := 0
	for range turn.Events(t.Context()) {
		if seen++; seen == n {
			return turn, true
		}
	}
	return turn, false
}

// cancelAfter cancels a turn after its event number n. more reports whether the turn had so many events.
func cancelAfter(t *testing.T, p *Panel, store *sessions.Store, n int) (cut, more bool) {
	t.Helper()
	turn, more := startedUntil(t, p, n)
	turn.Cancel()
	r := wait(t, turn)
	p.Wait()
	if cut = r.Status == kernel.Cut; cut {
		checkCut(t, r)
	}
	turns, err := store.Turns(t.Context(), "s", 0)
	if err != nil || len(turns) != 1 {
		t.Fatalf("the session has %+v, %v", turns, err)
	}
	if _, err := Replay(t.Context(), store, "s", turns[0]); err != nil {
		t.Error(err)
	}
	if _, err := store.Begin(t.Context(), "s", "and then?"); err != nil {
		t.Errorf("the session is not free: %v", err)
	}
	return cut, more
}

// checkCut: the winner is one of those whose answers stand, and who was out says so.
func checkCut(t *testing.T, r report.Result) {
	t.Helper()
	found := r.Winner == "" && len(r.Answers) == 0
	for _, a := range r.Answers {
		found = found || a.Agent == r.Winner
	}
	if !found {
		t.Errorf("the winner is %q, and there are %+v", r.Winner, r.Answers)
	}
	for _, c := range r.ToolCalls {
		if c.State == report.ToolRunning {
			t.Errorf("a tool still runs: %+v", c)
		}
	}
}

// TestWaitHasATimeLimit: a caller may stop waiting, and the turn goes on.
func TestWaitHasATimeLimit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const slow = "rules:\n  - {when: {}, reply: {delay: 10s, text: late}}\n"
		p, _ := panelOf(t, 1, slow, nil, nil)
		last := start(t, p, "how much?")
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := last.Wait(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("after a second it says %v", err)
		}
		if r := wait(t, last); r.Status != kernel.Completed || r.Answer != "late" {
			t.Errorf("the turn ends with %s, %q", r.Status, r.Answer)
		}
	})
}
