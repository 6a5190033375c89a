package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/massgen/massgen/cmd/massgen/app"
	"github.com/massgen/massgen/coordinator"
	"github.com/massgen/massgen/coordinator/turn"
	"github.com/massgen/massgen/temporal/engine"
)

// mortal is a cluster whose worker kills itself right after it has written an event of a
// journal, before anybody knows of it.
type mortal struct {
	*cluster
	diesAt int // the place of the event
}

func (m *mortal) Work(ctx context.Context, at app.ClusterAddress, panel *coordinator.Panel, redact func(string) string) (err error) {
	e, err := m.dial(ctx, at)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, e.Close()) }()
	return e.Work(ctx, panel, func(owner string) engine.Store {
		return &mortalStore{&masked{m.store.As(owner, m.lease), redact}, m.diesAt}
	})
}

type mortalStore struct {
	*masked
	diesAt int
}

func (s *mortalStore) AppendAt(ctx context.Context, id string, turn, place int, event []byte) ([]byte, error) {
	other, err := s.masked.AppendAt(ctx, id, turn, place, event)
	if err == nil && place == s.diesAt {
		return nil, syscall.Kill(os.Getpid(), syscall.SIGKILL)
	}
	return other, err
}

// TestWorkerIsKilledAfterEachEvent: whatever the next worker sees first, the turn goes on
// from what the journal has, to the result of a turn that nobody killed.
func TestWorkerIsKilledAfterEachEvent(t *testing.T) {
	w := newWorld(t)
	w.settings.Heartbeat = 5 * time.Second // so many at once may be slow, and are not to count as lost
	for _, panel := range []struct {
		name, line string
		events     int
	}{
		{"plain", "", 1 + 6},
		{"budget", "budget: {max_calls: 40, max_tokens: 100000}", 1 + 6*3},
	} {
		for at := range panel.events + 1 {
			t.Run(fmt.Sprint(panel.name, at), func(t *testing.T) {
				t.Parallel()
				if killed := w.of(t).killAfter(at, panel.line); killed != (at < panel.events) {
					t.Errorf("the worker was killed: %v", killed)
				}
			})
		}
	}
}

// killAfter plays a turn whose first worker dies after an event, and returns whether it did.
func (w *world) killAfter(at int, line string) bool {
	w.t.Helper()
	s := newService(w.t, agreeable)
	config := w.config(s.agents(3, line)...)
	w.settings.DiesAt = &at // for the worker that is started next
	first := w.worker("first", config)
	w.settings.DiesAt = nil
	client := w.ask(config, "energy?")
	select {
	case <-first.ended:
	case <-client.ended:
		w.checkAgreed(s, w.result(client), nil)
		return false
	}
	finished := w.finished()
	w.worker("second", config)
	w.checkAgreed(s, w.result(client), finished)
	return true
}

// finished are the calls whose replies are in the journal, as checkAgreed names them.
func (w *world) finished() map[string]bool {
	w.t.Helper()
	events, err := w.store().Journal(w.t.Context(), "s", 1)
	ok(w.t, err)
	done := map[string]bool{}
	for _, data := range events {
		ev, err := turn.Decode(data)
		ok(w.t, err)
		if m, is := ev.(turn.ModelDone); is {
			done[fmt.Sprintf("agent%d %v", m.Key.Agent+1, m.Key.Round == 1)] = true
		}
	}
	return done
}

// checkAgreed holds the result of an agreeable panel of three against one that nobody
// killed, and what was asked against the calls that were finished then.
func (w *world) checkAgreed(s *service, r coordinator.Result, finished map[string]bool) {
	w.t.Helper()
	if r.Status != "completed" || r.Winner != "agent2" || r.Rounds != 2 || r.Answer != "the answer of agent2" || len(r.Failed) > 0 {
		w.t.Errorf("%s, %s has won after %d rounds with %q; failed: %+v", r.Status, r.Winner, r.Rounds, r.Answer, r.Failed)
	}
	asked := map[string]int{}
	for _, c := range s.Calls() {
		asked[fmt.Sprintf("%s %v", c.Model(), isBlind(c))]++
	}
	repeated := 0
	for call, n := range asked {
		repeated += n - 1
		if n > 1 && finished[call] {
			w.t.Errorf("%s was asked %d times, although it was finished", call, n)
		}
	}
	told := r.RepeatedCalls // with those that were not sent yet when their worker was lost
	if len(asked) != 6 || repeated > told || r.Usage.Calls != 6+told || r.Usage.UnknownCalls != told {
		w.t.Errorf("%d calls, of which %d were made again; the result has %d, usage %+v", len(asked), repeated, r.RepeatedCalls, r.Usage)
	}
}
