package coordinator

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/massgen/massgen/internal/coordination/kernel"
	"github.com/massgen/massgen/sessions"
)

// endless is a store that stores no outcome with the last events. From then on it has room for so many
// events.
type endless struct {
	*sessions.Store
	room  int
	tries int // of EndWith
}

func (s *endless) EndWith(context.Context, string, int, sessions.Ended, ...[]byte) error {
	s.tries++
	return errors.New("disk full")
}

func (s *endless) Append(ctx context.Context, session string, turn int, events ...[]byte) error {
	if s.tries > 0 {
		if s.room -= len(events); s.room < 0 {
			return errors.New("disk full")
		}
	}
	return s.Store.Append(ctx, session, turn, events...)
}

// TestLastEventsAreStoredWithoutTheOutcome where both have no room: they were paid for. The outcome is
// tried again.
func TestLastEventsAreStoredWithoutTheOutcome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, memory := panelOf(t, 3, agree, nil, nil)
		store := &endless{Store: memory, room: 3}
		p.opts.Store = store
		if r := wait(t, start(t, p, "energy")); r.Status != kernel.Completed || r.Answer == "" || store.tries != 1 {
			t.Errorf("the turn ends with %s, %q after %d tries", r.Status, r.Answer, store.tries)
		}
		isRecorded(t, memory, 1)
		if history, err := memory.History(t.Context(), "s"); len(history) != 1 || err != nil {
			t.Errorf("the history is %+v, %v", history, err)
		}
	})
}

// TestTurnWithoutRoomForItsEnd is left as it was, and goes on when there is room.
func TestTurnWithoutRoomForItsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, memory := panelOf(t, 3, agree, nil, nil)
		p.opts.Store = &endless{Store: memory}
		if _, err := start(t, p, "energy").Wait(t.Context()); err == nil || !strings.Contains(err.Error(), "disk full") {
			t.Errorf("the turn ends with %v", err)
		}
		p.Wait()
		p.opts.Store = memory
		resumed, err := p.Resume(t.Context(), "s")
		if err != nil {
			t.Fatal(err)
		}
		if r := wait(t, resumed); r.Status != kernel.Completed {
			t.Errorf("the turn goes on to %s", r.Status)
		}
		isRecorded(t, memory, 1)
	})
}

// TestFactsAreAskedForAfterTheLastEvents are stored: to ask may take long, and a kill meanwhile would lose
// what was paid for.
func TestFactsAreAskedForAfterTheLastEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var kept []string
		p, memory := panelOf(t, 3, sidecalls, nil, func(o *Options) { o.Facts = keeping(o.Agents[0].Backend, &kept) })
		store := &endless{Store: memory}
		p.opts.Store = store
		if r := wait(t, start(t, p, "energy")); r.Status != kernel.Completed || store.tries > 0 {
			t.Errorf("the turn ends with %s after %d tries to store its outcome with the events", r.Status, store.tries)
		}
		p.Wait()
	})
}
