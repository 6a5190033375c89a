package main

import (
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/massgen/massgen/coordinator/report"
	"github.com/massgen/massgen/internal/coordination/effect"
)

// tell sends SIGTERM to a process.
func (p *process) tell(t testing.TB) {
	t.Helper()
	ok(t, p.Process.Signal(syscall.SIGTERM))
}

// ends waits until a process that was told to end has done so without an error.
func (p *process) ends(t testing.TB) {
	t.Helper()
	<-p.ended
	if status := p.ProcessState.ExitCode(); status != 0 {
		t.Errorf("exit status %d", status)
	}
}

// longerThanAGrace is longer than a worker that is told to end once let its calls go on.
const longerThanAGrace = 3 * time.Second

// TestAWorkerThatIsToldToEnd lets its call end, and takes no more work. If it is told twice, or may not wait, it gives
// the call back at once: nobody waits until it counts as lost.
func TestAWorkerThatIsToldToEnd(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for name, c := range map[string]struct {
		flags    []string
		signals  int
		repeated int
	}{
		"once":           {nil, 1, 0},
		"twice":          {nil, 2, 1},
		"without a wait": {[]string{"--drain", "0s"}, 1, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := w.of(t)
			w.settings.Heartbeat = time.Hour
			w.flags = c.flags
			s, client, working, config := w.inMidTurn("worker")
			worker := working[0]
			worker.tell(t)
			<-time.After(longerThanAGrace)
			if c.signals > 1 {
				worker.tell(t)
			}
			if c.repeated > 0 { // it does not wait for the call
				worker.ends(t)
			}
			s.free()
			worker.ends(t)
			w.worker("another", config)
			w.checkUnrepeated(s, w.result(client), c.repeated)
		})
	}
}

// TestAWorkerWithToolsIsToldToEnd between two calls of its tools. With a time it keeps the turn until that is over. Without
// one it ends, and the agents go on without their tools.
func TestAWorkerWithToolsIsToldToEnd(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.settings.Heartbeat = time.Hour
	for name, c := range map[string]struct {
		flags []string
		keeps bool
	}{"with a time": {[]string{"--drain", "10m"}, true}, "without a time": {nil, false}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := w.of(t)
			w.flags = c.flags
			m := newTooled(t, w, isBetween)
			client := m.ask(m.config, "energy?")
			m.until("agent1 and agent2 are between their calls", func() bool { return m.service.holds() == 2 })
			home := m.home()
			home.tell(t)
			<-time.After(longerThanAGrace)
			m.service.free()
			r := m.result(client)
			home.ends(t)
			lost := slices.ContainsFunc(r.ToolCalls, func(c report.ResultToolCall) bool { return c.State == effect.ToolInterrupted })
			if r.Status != "completed" || r.Winner != "agent1" || len(r.Failed) > 0 || lost == c.keeps || r.RepeatedCalls > 0 {
				t.Errorf("%s, %s has won, failed: %v, %d calls were made again\n%s", r.Status, r.Winner, r.Failed, r.RepeatedCalls, strings.Join(calls(r), "\n"))
			}
		})
	}
}

// TestServersThatComeLater are waited for by a worker and by serve.
func TestServersThatComeLater(t *testing.T) {
	t.Parallel()
	address, err := freeAddress()
	ok(t, err)
	w := worldOn(t, &server{address: address})
	way := w.wired()
	way.cut()
	s := newService(t, agreeable)
	config := w.config(s.agents(3)...)
	worker := w.start("worker", w.working(config)...)
	listen, err := freeAddress()
	ok(t, err)
	serve := w.start("server", "serve", "--listen", listen, "--config", config, "--temporal-address", w.address, "--temporal-queue", w.queue())
	<-time.After(longerThanAGrace)
	ok(t, way.mend())
	<-time.After(longerThanAGrace)
	t.Cleanup(w.server.kill)
	ok(t, w.server.start())
	answering := &served{process: serve, world: w, url: "http://" + listen}
	var answer string
	w.until("the server answers", func() bool {
		answer, err = answering.answer(t.Context(), asks("s", "energy?"))
		return err == nil
	})
	if answer != winner {
		t.Errorf("the answer is %q", answer)
	}
	for _, p := range []*process{worker, serve} {
		p.kill()
		for _, of := range []string{"massgen: warning: waiting: --database: ", "massgen: warning: waiting: "} {
			if !strings.Contains(p.stderr.String(), of) {
				t.Errorf("it does not say that it waits: %s", p.stderr.String())
			}
		}
		if n := strings.Count(p.stderr.String(), "massgen: warning: waiting: "); n > 10 {
			t.Errorf("it says %d times that it waits", n)
		}
	}
}
