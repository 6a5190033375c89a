package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/cmd/massgen/app"
	"github.com/massgen/massgen/coordinator"
	"github.com/massgen/massgen/coordinator/report"
	"github.com/massgen/massgen/internal/coordination/effect"
	"github.com/massgen/massgen/internal/coordination/kernel"
	"github.com/massgen/massgen/internal/coordination/turn"
	"github.com/massgen/massgen/temporal/engine"
	"github.com/massgen/massgen/temporal/postgres"
	"github.com/massgen/massgen/tests/backendtest"
)

// mortal is a cluster whose worker kills itself right after it has written an event of a
// journal, before anybody knows of it.
type mortal struct {
	*cluster
	diesAt int // the place of the event
}

func (m *mortal) Work(ctx context.Context, at app.ClusterAddress, panel *coordinator.Panel, o app.WorkOptions) error {
	return m.work(ctx, at, panel, o, func(owner string) engine.Store {
		return &mortalStore{m.ownedBy(owner, o.Redact), m.diesAt}
	})
}

type mortalStore struct {
	*postgres.Store
	diesAt int
}

func (s *mortalStore) AppendAt(ctx context.Context, id string, turn, place int, events ...[]byte) error {
	err := s.Store.AppendAt(ctx, id, turn, place, events...)
	if err == nil && place <= s.diesAt && s.diesAt < place+len(events) {
		return syscall.Kill(os.Getpid(), syscall.SIGKILL)
	}
	return err
}

var killEverywhere = flag.Bool("kill-everywhere", false, "kill workers after each event of a journal, and wherever they may have tools, and not only at some places")

// killed is a panel whose turn is played again for each event of its journal.
type killed struct {
	name  string
	reply func(backendtest.Call) backendtest.Reply
	// place returns the one event, of so many, after which the worker is killed without
	// -kill-everywhere.
	place func(events int) int
	// agents are the lines of its config.
	agents func(w *world, s *service) []string
}

func killedPanels() []killed {
	return []killed{
		{"plain", agreeable, func(int) int { return 0 }, func(_ *world, s *service) []string { return s.agents(3) }},
		{"budget", agreeable, func(events int) int { return events - 1 }, func(_ *world, s *service) []string {
			return s.agents(3, "budget: {max_calls: 40, max_tokens: 400000}")
		}},
		{"tools", writing, func(events int) int { return events / 2 }, func(w *world, s *service) []string {
			lines := s.agents(2, "orchestrator: {snapshot_storage: "+filepath.Join(w.dir, "snapshots")+"}")
			lines[1] = strings.Replace(lines[1], "model: agent1", "model: agent1, cwd: "+w.shared("work"), 1)
			return lines
		}},
		{"judge and check", checkedAndJudged, func(events int) int { return events * 3 / 4 }, func(_ *world, s *service) []string {
			return s.agents(3, `orchestrator: {strategy: judge, final: synthesize, check: {pattern: better}, judge: {backend: {base_url: "$URL", model: agent4}}}`)
		}},
	}
}

// checkedAndJudged has agents learn from their check, and a judge write the answer.
func checkedAndJudged(c backendtest.Call) backendtest.Reply {
	if isBlind(c) {
		return learning(c)
	}
	return deciding(c)
}

// shared is a folder that all workers see.
func (w *world) shared(name string) string {
	w.t.Helper()
	dir := filepath.Join(w.dir, name)
	ok(w.t, os.MkdirAll(dir, 0o700))
	return dir
}

// TestWorkerIsKilledAfterEachEvent: whatever the next worker sees first, the turn goes on
// from what the journal has, to the result of a turn that nobody killed. Without
// -kill-everywhere, each panel loses a worker at one place only.
func TestWorkerIsKilledAfterEachEvent(t *testing.T) {
	t.Parallel()
	w := newLosingWorld(t)
	for _, panel := range killedPanels() {
		t.Run(panel.name, func(t *testing.T) {
			t.Parallel()
			w := w.of(t)
			s := newService(t, panel.reply)
			config := w.config(panel.agents(w, s)...)
			w.worker("worker", config)
			want := w.result(w.ask(config, "energy?"))
			events, err := w.store().Journal(t.Context(), "s", 1, 0)
			ok(t, err)
			for at := range events {
				if !*killEverywhere && at != panel.place(len(events)) {
					continue
				}
				t.Run(fmt.Sprint(at), func(t *testing.T) {
					t.Parallel()
					w.of(t).killAfter(at, panel, want)
				})
			}
		})
	}
}

// killAfter plays a turn whose first worker dies after an event.
func (w *world) killAfter(at int, panel killed, want report.Result) {
	w.t.Helper()
	s := newService(w.t, panel.reply)
	config := w.config(panel.agents(w, s)...)
	w.settings.DiesAt = &at // for the worker that is started next
	first := w.worker("first", config)
	w.settings.DiesAt = nil
	client := w.ask(config, "energy?")
	select {
	case <-first.ended:
	case <-client.ended:
		w.t.Fatalf("the worker is not killed after event %d: %s", at, client.stderr.String())
	}
	finished := w.finished()
	w.worker("second", config)
	w.checkUnkilled(s, w.result(client), want, finished)
}

// callName names a call by its agent, whether it is of round 1, and how many came before it
// in its step.
func callName(agent string, isBlind bool, index int) string {
	return fmt.Sprint(agent, " ", isBlind, " ", index)
}

// finished are the calls whose replies are in the journal.
func (w *world) finished() map[string]bool {
	w.t.Helper()
	events, err := w.store().Journal(w.t.Context(), "s", 1, 0)
	ok(w.t, err)
	done := map[string]bool{}
	for _, data := range events {
		ev, err := turn.Decode(data)
		ok(w.t, err)
		if m, is := ev.(turn.ModelDone); is {
			before := m.Key.Index
			if m.Key.Purpose == effect.Synthesis { // which follows the judge's analysis
				before++
			}
			isFirst := m.Key.Round == 1 && m.Key.Purpose == effect.Coordination
			done[callName(fmt.Sprint("agent", m.Key.Agent+1), isFirst, before)] = true
		}
	}
	return done
}

// checkUnkilled compares a result with the result of a turn without a kill, and the requests with the
// calls that had ended before the kill.
func (w *world) checkUnkilled(s *service, r, want report.Result, finished map[string]bool) {
	w.t.Helper()
	type outcome struct {
		Status                  kernel.Status
		Winner, Answer          string
		Rounds, Calls, Failures int
	}
	is := outcome{r.Status, r.Winner, r.Answer, r.Rounds, r.Usage.Calls - r.RepeatedCalls, len(r.Failed)}
	if wants := (outcome{want.Status, want.Winner, want.Answer, want.Rounds, want.Usage.Calls, 0}); is != wants {
		w.t.Errorf("%+v, not %+v; failed: %+v", is, wants, r.Failed)
	}
	asked := map[string]int{}
	for _, c := range s.Calls() {
		before := 0
		for _, m := range c.Messages() {
			if m.Role == backends.RoleAssistant {
				before++
			}
		}
		asked[callName(c.Model(), isBlind(c), before)]++
	}
	repeated := 0
	for call, n := range asked {
		repeated += n - 1
		if n > 1 && finished[call] {
			w.t.Errorf("%s was asked %d times, although it was finished", call, n)
		}
	}
	told := r.RepeatedCalls // with those that were not sent yet when their worker was lost
	if len(asked) != want.Usage.Calls || repeated > told || told > repeated+3 || r.Usage.UnknownCalls != told {
		w.t.Errorf("%d calls, of which %d were made again; the result has %d, usage %+v", len(asked), repeated, told, r.Usage)
	}
}
