package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	enums "go.temporal.io/api/enums/v1"

	"github.com/massgen/massgen/agents/machine"
	"github.com/massgen/massgen/backends/backendtest"
	"github.com/massgen/massgen/coordinator"
)

// movable are three workers, each in a folder of its own, and two agents. The first one's cwd
// is seen by all workers, or not; the second has an MCP server only.
type movable struct {
	*world
	service *service
	desk    *desk
	config  string
	shared  string
	workers map[string]*process
}

// newMovable starts the workers. SHARED in its folders is one that all see. What held says
// is not answered before the service is freed.
func newMovable(t *testing.T, w *world, held func(backendtest.Call) bool, storage, cwd string) *movable {
	t.Helper()
	m := &movable{world: w.of(t), service: newService(t, noting), desk: newDesk(t), workers: map[string]*process{}}
	m.service.held = held
	m.shared = m.share()
	lines := m.service.agents(2, "orchestrator: {snapshot_storage: "+storage+"}")
	for i, more := range []string{"cwd: " + cwd + ", " + m.desk.server(), m.desk.server()} {
		model := fmt.Sprintf("model: agent%d", i+1)
		lines[2+i] = strings.Replace(lines[2+i], model, model+", "+more, 1)
	}
	for i, line := range lines {
		lines[i] = strings.ReplaceAll(line, "SHARED", m.shared)
	}
	m.config = m.world.config(lines...)
	for _, folder := range []string{"worker1", "worker2", "worker3"} {
		m.workers[folder] = m.worker(folder, m.config)
	}
	return m
}

// home is the worker on which the last tool call was begun.
func (m *movable) home() *process {
	m.t.Helper()
	history := m.histories()[0].Events
	pid := 0
	for _, ev := range history {
		if ev.EventType != enums.EVENT_TYPE_ACTIVITY_TASK_STARTED {
			continue
		}
		started := ev.GetActivityTaskStartedEventAttributes()
		queue := history[started.ScheduledEventId-1].GetActivityTaskScheduledEventAttributes().TaskQueue.Name
		if queue == m.queue() {
			continue
		}
		identity, _, _ := strings.Cut(started.Identity, "@")
		var err error
		pid, err = strconv.Atoi(identity)
		ok(m.t, err)
	}
	for _, worker := range m.workers {
		if worker.Process.Pid == pid {
			return worker
		}
	}
	m.t.Fatalf("no worker has the process id %d", pid)
	return nil
}

// calls are the tool calls of a result, with their results.
func calls(r coordinator.Result) (told []string) {
	for _, c := range r.ToolCalls {
		told = append(told, fmt.Sprintf("%s %s %s: %s", c.Agent, c.Name, c.State, c.Result))
	}
	return told
}

// checkRequests says that no model was asked again what it had answered. A call that was
// held when its worker was killed may have been made again.
func (m *movable) checkRequests(r coordinator.Result) {
	m.t.Helper()
	times := map[string]int{}
	repeated := 0
	for _, c := range m.service.Calls() {
		body := string(c.Body)
		if times[body]++; times[body] > 1 {
			repeated++
		}
		if times[body] > 2 || times[body] == 2 && !m.service.held(c) {
			m.t.Errorf("%d times: %s", times[body], body)
		}
	}
	if len(times) != 10 || repeated != r.RepeatedCalls || r.Usage.Calls != len(times)+repeated {
		m.t.Errorf("%d requests, of which %d were made again; the result has %d of %d", len(times)+repeated, repeated, r.RepeatedCalls, r.Usage.Calls)
	}
}

// checkUnmarked says that nothing was left in the folders.
func (m *movable) checkUnmarked() {
	m.t.Helper()
	for _, pattern := range []string{"*/.massgen*", "shared/*/.massgen*"} {
		left, err := filepath.Glob(filepath.Join(m.dir, pattern))
		if err != nil || len(left) > 0 {
			m.t.Errorf("left are %v, %v", left, err)
		}
	}
}

// noting has agent1 write a file and ask its MCP server, and go on with both before it
// answers. Agent2 asks its own.
func noting(c backendtest.Call) backendtest.Reply {
	switch {
	case !isBlind(c):
		return vote("agent1")
	case c.Model() == "agent2":
		return step(c, act("mcp__own__ask", `{"what":"of agent2"}`), act("mcp__own__ask", `{"what":"of agent2 again"}`), newAnswer("mine"))
	}
	return step(c, act("write_file", `{"path":"note.txt","content":"the note"}`), act("mcp__own__ask", `{"what":"of agent1"}`),
		act("read_file", `{"path":"note.txt"}`), act("mcp__own__ask", `{"what":"of agent1 again"}`), newAnswer("see the note"))
}

// isBetween says that a call is that of agent1 which follows its second tool call, or that of
// agent2 which follows its first.
func isBetween(c backendtest.Call) bool {
	said := len(c.Messages()) - 2 // by the model and its tools
	return isBlind(c) && (c.Model() == "agent1" && said == 4 || c.Model() == "agent2" && said == 2)
}

// TestWorkerThatHasTheToolsIsKilled between two calls, and other workers see its folders. With
// -kill-everywhere it is also killed in a call, and where no other worker sees its folders:
// temporal/engine has that where time is free.
func TestWorkerThatHasTheToolsIsKilled(t *testing.T) {
	t.Parallel()
	w := newLosingWorld(t)
	kills := map[string]func(*testing.T, *world){"between two calls": checkToolsMove}
	if *killEverywhere {
		kills["in a call"] = checkToolCallIsNotRepeated
		for _, missing := range []string{"cwd", "snapshot_storage"} {
			kills["where no other worker sees its "+missing] = func(t *testing.T, w *world) { checkToolsCannotMove(t, w, missing) }
		}
	}
	for name, check := range kills {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			check(t, w)
		})
	}
}

// checkToolsMove: the tools go on elsewhere with the file that is there, no finished call is
// made again, and what was kept with the answers is where all see it.
func checkToolsMove(t *testing.T, w *world) {
	m := newMovable(t, w, isBetween, "SHARED/snapshots", "SHARED/agent1")
	client := m.ask(m.config, "energy?")
	m.until("agent1 and agent2 are between their calls", func() bool { return m.service.holds() == 2 })
	killed := m.home()
	killed.kill()
	m.service.free()
	r := m.result(client)
	m.checkHistories("home moved")
	want := []string{
		`agent1 write_file ran: {"success":true,"path":"note.txt","size":8,"created":true}`,
		"agent1 mcp__own__ask ran: of agent1, as call 1 of this server",
		`agent1 read_file ran: {"success":true,"path":"note.txt","size":8,"content":"the note"}`,
		"agent1 mcp__own__ask ran: of agent1 again, as call 1 of this server", // of another process
		"agent2 mcp__own__ask ran: of agent2, as call 1 of this server",
		"agent2 mcp__own__ask ran: of agent2 again, as call 1 of this server",
	}
	got := calls(r)
	slices.Sort(got)
	slices.Sort(want)
	if r.Status != "completed" || r.Winner != "agent1" || len(r.Failed) > 0 || !slices.Equal(got, want) {
		t.Errorf("%s, %s has won, failed: %v\n%s", r.Status, r.Winner, r.Failed, strings.Join(got, "\n"))
	}
	asked := m.desk.asked()
	slices.Sort(asked)
	if !slices.Equal(asked, []string{"of agent1", "of agent1 again", "of agent2", "of agent2 again"}) {
		t.Errorf("the MCP servers were asked %q", asked)
	}
	if text, err := os.ReadFile(filepath.Join(r.Snapshot, "note.txt")); string(text) != "the note" || err != nil {
		t.Errorf("%s has %q, %v", r.Snapshot, text, err)
	}
	if killed == m.home() {
		t.Error("the tools did not move")
	}
	m.checkRequests(r)
	m.checkUnmarked()
}

// checkToolCallIsNotRepeated: the agent is told that nobody knows what has become of the call
// that was under way, and goes on with its files elsewhere.
func checkToolCallIsNotRepeated(t *testing.T, w *world) {
	m := newMovable(t, w, func(backendtest.Call) bool { return false }, "SHARED/snapshots", "SHARED/agent1")
	release := make(chan struct{})
	t.Cleanup(func() { close(release) }) // before the desk is closed
	m.desk.before = func(what string) {
		if what == "of agent1" {
			<-release
		}
	}
	client := m.ask(m.config, "energy?")
	store := m.store()
	m.until("agent1 is in its call, and agent2 has answered", func() bool {
		replies, tools := progress(t, store, 1)
		return replies == 5 && tools == 1 && slices.Contains(m.desk.asked(), "of agent1")
	})
	m.home().kill()
	r := m.result(client)
	var states []machine.ToolState
	for _, c := range r.ToolCalls {
		if c.Agent == "agent1" {
			states = append(states, c.State)
		}
	}
	want := []machine.ToolState{machine.ToolRan, machine.ToolInterrupted, machine.ToolRan, machine.ToolRan}
	if got := calls(r); r.Status != "completed" || !slices.Equal(states, want) || !strings.Contains(strings.Join(got, "\n"), "unknown: interrupted: ") {
		t.Errorf("%s\n%s", r.Status, strings.Join(got, "\n"))
	}
	if asked := m.desk.asked(); len(slices.DeleteFunc(asked, func(what string) bool { return what != "of agent1" })) != 1 {
		t.Errorf("it was asked %d times", len(asked))
	}
}

// checkToolsCannotMove: the agent is told which folder is missing, while agents without
// folders go on elsewhere.
func checkToolsCannotMove(t *testing.T, w *world, missing string) {
	folders := map[string][2]string{
		"cwd":              {"SHARED/snapshots", "work"},
		"snapshot_storage": {"snapshots", "SHARED/agent1"},
	}[missing]
	m := newMovable(t, w, isBetween, folders[0], folders[1])
	client := m.ask(m.config, "energy?")
	m.until("agent1 and agent2 are between their calls", func() bool { return m.service.holds() == 2 })
	m.home().kill()
	m.service.free()
	r := m.result(client)
	told := strings.Join(calls(r), "\n")
	lost := "agent1 read_file interrupted: Error: the worker on which the tools and files of agent1 were is lost, and no other one that was asked sees the same folder (" + missing + "). Go on without them."
	if r.Status != "completed" || !strings.Contains(told, lost) || !strings.Contains(told, "ran: of agent2 again") || strings.Contains(told, "of agent1 again,") {
		t.Errorf("%s\n%s", r.Status, told)
	}
	if warnings := strings.Join(r.Warnings, "\n"); !strings.Contains(warnings, "the workspace of agent1 could not be kept") || !strings.Contains(warnings, missing) {
		t.Errorf("the warnings are %s", warnings)
	}
}
