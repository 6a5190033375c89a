package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/tests/backendtest"
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

// TestToolsStayOnOneWorker of three, each with a folder of its own: the agent sees one worker's folder
// in all of its calls.
func TestToolsStayOnOneWorker(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := newService(t, writing)
	lines := s.agents(2)
	lines[1] = strings.Replace(lines[1], "model: agent1", "model: agent1, cwd: work", 1)
	config := w.config(lines...)
	for _, folder := range []string{"worker1", "worker2", "worker3"} {
		ok(t, os.MkdirAll(filepath.Join(w.dir, folder, "work"), 0o700))
		w.worker(folder, config)
	}
	r := w.result(w.ask(config, "energy?"))
	if r.Status != "completed" {
		t.Errorf("%s, failed: %+v", r.Status, r.Failed)
	}
	if kept := r.Answers[0].Snapshot; !strings.Contains(kept, filepath.Join(".local", "state", "massgen", "snapshots")) {
		t.Errorf("the work of %s is kept in %q", r.Answers[0].Agent, kept)
	}
	var told []string
	for _, c := range r.ToolCalls {
		told = append(told, fmt.Sprintf("%s %s %v: %.120s", c.Name, c.State, c.Error, c.Result))
	}
	if len(told) != 3 || strings.Contains(strings.Join(told, " "), "true:") || !strings.Contains(told[2], "the note") {
		t.Errorf("%q", told)
	}
}
