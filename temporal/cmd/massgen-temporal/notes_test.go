package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/massgen/massgen/coordinator/report"
	"github.com/massgen/massgen/temporal/engine"
)

// note adds a note to the turn of session s, and waits until that is done.
func (w *world) note(text string) *process {
	w.t.Helper()
	p := w.start("noter", "note", "--temporal-address", w.address, "--temporal-queue", w.queue(), "s", text)
	<-p.ended
	return p
}

// signalNothing signals a note without a text, which must not keep the turn from going on.
func (w *world) signalNothing() {
	w.t.Helper()
	e, err := engine.Dial(w.t.Context(), engine.Options{Address: w.address, Queue: w.queue()})
	ok(w.t, err)
	remote, err := e.Attach(w.t.Context(), "s")
	ok(w.t, err)
	ok(w.t, remote.Note(w.t.Context(), "nothing", " "))
	ok(w.t, e.Close())
}

// TestNotesReachATurnThatRuns: from another process, and the one that follows the turn
// tells of it; also if the worker is killed then, and if the turn goes on as a new run.
func TestNotesReachATurnThatRuns(t *testing.T) {
	t.Parallel()
	w := newLosingWorld(t)
	for name, c := range map[string]struct {
		kill         bool
		historyLimit int
	}{
		"plain": {}, "the worker is killed": {kill: true}, "new runs": {historyLimit: 20},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := w.of(t)
			if w.settings.HistoryLimit = c.historyLimit; c.historyLimit > 0 {
				w.settings.InlineLimit = 1000 // what goes to the next run is a text
			}
			if p := w.note("In French"); p.ProcessState.ExitCode() == 0 || !strings.Contains(p.stderr.String(), `no turn of session "s" is played`) {
				t.Errorf("before the turn: %s", p.stderr.String())
			}
			s, client, working, config := w.inMidTurn("worker")
			follower := w.start("follower", "--config", config, "--temporal-address", w.address, "--temporal-queue", w.queue(),
				"--session-id", "s", "--continue", "--json")
			w.until("both clients follow", func() bool { return w.followers() == 2 })
			w.signalNothing()
			if p := w.note("In French"); p.ProcessState.ExitCode() != 0 {
				t.Fatalf("exit status %d: %s", p.ProcessState.ExitCode(), p.stderr.String())
			}
			if c.kill {
				working[0].kill()
				w.worker("another", config)
			}
			s.free()
			r := w.result(client)
			if diff := cmp.Diff([]report.ResultNote{{Text: "In French", SeenBy: 3}}, r.Notes); diff != "" || r.Status != "completed" {
				t.Errorf("%s, the notes (-want +got):\n%s", r.Status, diff)
			}
			followed := w.result(follower)
			if diff := cmp.Diff(r.Notes, followed.Notes); diff != "" || !strings.Contains(follower.stderr.String(), "note: In French") {
				t.Errorf("who follows is told (-want +got):\n%s\n%s", diff, follower.stderr.String())
			}
			if c.historyLimit > 0 {
				w.checkHistories("notes")
			}
			for _, c := range s.Calls() {
				const block = "energy? <END OF ORIGINAL MESSAGE>\n\n<NOTE from the user> In French <END OF NOTE>\n\n<CURRENT ANSWERS"
				if strings.Contains(c.User(), block) == isBlind(c) {
					t.Errorf("%s is sent\n%s", c.Model(), c.User())
				}
			}
			if p := w.note("too late"); p.ProcessState.ExitCode() != 1 || !strings.Contains(p.stderr.String(), `no turn of session "s" is played`) {
				t.Errorf("after the turn: exit status %d: %s", p.ProcessState.ExitCode(), p.stderr.String())
			}
		})
	}
}
