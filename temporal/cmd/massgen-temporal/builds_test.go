package main

import (
	"strings"
	"testing"

	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"

	"github.com/massgen/massgen/tests/backendtest"
)

// build starts a worker of a build, and returns when it is at work.
func (w *world) build(id, config string) *process {
	w.t.Helper()
	w.flags = []string{"--temporal-deployment", w.queue(), "--temporal-build", id}
	defer func() { w.flags = nil }()
	return w.worker(id, config)
}

// setCurrent makes a build the one that gets new turns.
func (w *world) setCurrent(id string) {
	w.t.Helper()
	handle := w.dial().WorkerDeploymentClient().GetHandle(w.queue())
	w.until("the server knows build "+id, func() bool {
		_, err := handle.SetCurrentVersion(w.t.Context(), client.WorkerDeploymentSetCurrentVersionOptions{BuildID: id})
		return err == nil
	})
}

// TestATurnStaysWithItsBuild: while a new build gets the new turns, the old one ends its own.
func TestATurnStaysWithItsBuild(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := newService(t, agreeable)
	s.held = func(c backendtest.Call) bool {
		return c.Model() == "agent3" && isBlind(c) && strings.Contains(c.User(), "energy?")
	}
	config := w.config(s.agents(3)...)
	old := w.build("build-1", config)
	w.ask(config, "energy?").refused(t, "take no new turns", "set-current-version --deployment-name "+w.queue()+" --build-id build-1")
	w.setCurrent("build-1")
	client := w.ask(config, "energy?")
	w.until("the third agent is asked", func() bool { return s.holds() == 1 })
	w.build("build-2", config)
	w.setCurrent("build-2")
	second := w.start("second", "--config", config, "--temporal-address", w.address, "--temporal-queue", w.queue(), "--session-id", "t", "--json", "--automation", "and water?")
	if r := w.result(second); r.Status != "completed" {
		t.Error(r.Status)
	}
	s.free()
	if r := w.result(client); r.Status != "completed" || r.RepeatedCalls != 0 {
		t.Errorf("%s, %d calls were repeated", r.Status, r.RepeatedCalls)
	}
	for session, want := range map[string]string{"s": "build-1", "t": "build-2"} {
		h, err := readHistory(w.dial().GetWorkflowHistory(t.Context(), "massgen/"+w.queue()+"/"+session, "", false, enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT))
		ok(t, err)
		for _, ev := range h.Events {
			done := ev.GetWorkflowTaskCompletedEventAttributes()
			if done != nil && (done.GetDeploymentVersion().GetBuildId() != want || done.GetVersioningBehavior() != enums.VERSIONING_BEHAVIOR_PINNED) {
				t.Errorf("a task of session %s went to %v, %v", session, done.GetDeploymentVersion(), done.GetVersioningBehavior())
			}
		}
	}
	if said := old.stderr.String(); strings.Contains(said, "session=t") {
		t.Errorf("the old build has a part in the new turn: %s", said)
	}
}
