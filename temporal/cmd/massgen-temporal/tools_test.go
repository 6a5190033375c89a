package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/backends/backendtest"
)

// writing has agent1 write a file, and read it, before it answers.
func writing(c backendtest.Call) backendtest.Reply {
	results := 0
	for _, m := range c.Messages() {
		if m.Role == backends.RoleTool {
			results++
		}
	}
	switch {
	case c.Model() != "agent1" || !isBlind(c) || results > 2:
		return agreeable(c)
	case results == 0:
		return act("write_file", `{"path":"note.txt","content":"the note"}`)
	}
	return act("read_file", `{"path":"note.txt"}`)
}

// playWriting plays a turn with three workers, each with a folder of its own, and returns
// what its result tells of the tool calls. With kill, the worker goes on whose folder the
// file is, before that is read.
func (w *world) playWriting(kill bool) (told []string) {
	w.t.Helper()
	s := newService(w.t, writing)
	s.held = func(c backendtest.Call) bool {
		messages := c.Messages()
		return c.Model() == "agent1" && isBlind(c) && messages[len(messages)-1].Role == backends.RoleTool && len(messages) == 4
	}
	lines := s.agents(2)
	lines[1] = strings.Replace(lines[1], "model: agent1", "model: agent1, cwd: work", 1)
	if !strings.Contains(lines[1], "cwd") {
		w.t.Fatal(lines[1])
	}
	config := w.config(lines...)
	working := map[string]*process{"worker1": nil, "worker2": nil, "worker3": nil}
	for folder := range working {
		ok(w.t, os.MkdirAll(filepath.Join(w.dir, folder, "work"), 0o700))
		working[folder] = w.worker(folder, config)
	}
	client := w.ask(config, "energy?")
	w.until("agent1 has written its file", func() bool { return s.holds() == 1 })
	for folder, worker := range working {
		if _, err := os.Stat(filepath.Join(w.dir, folder, "work", "note.txt")); err == nil && kill {
			worker.kill()
		}
	}
	s.free()
	r := w.result(client)
	if kill {
		w.checkHistories("home lost")
	}
	if r.Status != "completed" {
		w.t.Errorf("%s, failed: %+v", r.Status, r.Failed)
	}
	if kept := r.Answers[0].Snapshot; !kill && !strings.Contains(kept, filepath.Join(".local", "state", "massgen", "snapshots")) {
		w.t.Errorf("the work of %s is kept in %q", r.Answers[0].Agent, kept)
	}
	for _, c := range r.ToolCalls {
		told = append(told, fmt.Sprintf("%s %s %v: %.120s", c.Name, c.State, c.Error, c.Result))
	}
	return told
}

// TestToolsStayOnOneWorker, whose folder the agent sees in all of its calls. With
// -kill-everywhere that worker is killed: the agent is told, and no other folder is taken for
// the lost one.
func TestToolsStayOnOneWorker(t *testing.T) {
	t.Parallel()
	w := newLosingWorld(t)
	t.Run("all live", func(t *testing.T) {
		t.Parallel()
		told := w.of(t).playWriting(false)
		if len(told) != 3 || strings.Contains(strings.Join(told, " "), "true:") || !strings.Contains(told[2], "the note") {
			t.Errorf("%q", told)
		}
	})
	if !*killEverywhere { // temporal/engine has the same where time is free
		return
	}
	t.Run("it is killed", func(t *testing.T) {
		t.Parallel()
		told := w.of(t).playWriting(true)
		if len(told) != 3 || !strings.Contains(told[2], "read_file interrupted true: Error: the worker on which the tools and files of agent1 were is lost") {
			t.Errorf("%q", told)
		}
	})
}
