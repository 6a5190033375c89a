package coordinator

import (
	"errors"
	"testing"
	"testing/synctest"

	"github.com/massgen/massgen/internal/coordination/kernel"
	"github.com/massgen/massgen/sessions"
)

// TestLeaveAtEveryMoment leaves turns after each of their events. Then nothing of the turn runs any more, and the turn can
// be resumed to its end. A goroutine that is left fails the bubble.
func TestLeaveAtEveryMoment(t *testing.T) {
	t.Parallel()
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
					var isLeft bool
					if isLeft, more = leaveAfter(t, p, store, n); isLeft {
						moments++
					}
				})
				if t.Failed() {
					t.Fatalf("after event %d", n)
				}
			}
			if moments < 5 {
				t.Errorf("%d turns were left", moments)
			}
		})
	}
}

// leaveAfter leaves a turn after its event number n, and resumes it. more reports whether the turn had so many events.
func leaveAfter(t *testing.T, p *Panel, store *sessions.Store, n int) (isLeft, more bool) {
	t.Helper()
	turn := start(t, p, "energy")
	seen := 0
	for range turn.Events(t.Context()) {
		if seen++; seen == n {
			more = true
			break
		}
	}
	turn.Leave()
	_, err := turn.Wait(t.Context())
	p.Wait()
	if isLeft = errors.Is(err, ErrLeft); !isLeft && err != nil {
		t.Fatal(err)
	}
	left, err := store.Interrupted(t.Context(), "s")
	if err != nil || (len(left) == 1) != isLeft {
		t.Fatalf("after the turn was left (%v), the store has %+v, %v", isLeft, left, err)
	}
	if !isLeft {
		return isLeft, more
	}
	if turn, err = p.Resume(t.Context(), "s"); err != nil {
		t.Fatal(err)
	}
	wait(t, turn)
	turns, err := store.Turns(t.Context(), "s", 0)
	if err != nil || len(turns) != 1 || turns[0].Status == sessions.Running {
		t.Fatalf("the session has %+v, %v", turns, err)
	}
	if _, err := Replay(t.Context(), store, "s", turns[0]); err != nil {
		t.Error(err)
	}
	return isLeft, more
}

// TestStopKeepsAnAnswerOrLeaves: a turn with an answer ends with it, and any other can be resumed.
func TestStopKeepsAnAnswerOrLeaves(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		script string
		want   error
	}{
		"an answer": {"rules:\n  - {when: {agent: agent1, round: 1}, reply: {new_answer: Sun}}\n  - {when: {}, reply: {delay: 1h, new_answer: Moon}}\n", nil},
		"no answer": {"rules:\n  - {when: {}, reply: {delay: 1h, new_answer: Moon}}\n", ErrLeft},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				p, store := panelOf(t, 2, test.script, nil, nil)
				turn := start(t, p, "energy")
				synctest.Wait()
				turn.Stop()
				r, err := turn.Wait(t.Context())
				if !errors.Is(err, test.want) || err == nil && (r.Status != kernel.Cut || r.Answer != "Sun") {
					t.Errorf("the turn ended with %s, %q, %v", r.Status, r.Answer, err)
				}
				p.Wait()
				left, err := store.Interrupted(t.Context(), "s")
				if err != nil || (len(left) == 1) != (test.want != nil) {
					t.Errorf("the store has the lost turns %+v, %v", left, err)
				}
			})
		})
	}
}
