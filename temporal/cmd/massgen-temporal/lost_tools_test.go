package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	enums "go.temporal.io/api/enums/v1"

	"github.com/massgen/massgen/coordinator/report"
	"github.com/massgen/massgen/internal/coordination/effect"
	"github.com/massgen/massgen/tests/backendtest"
)

// tooled are three workers, each in a folder of its own, and two agents. The first one's cwd
// is seen by all workers; the second has an MCP server only.
type tooled struct {
	*world
	service *service
	desk    *desk
	config  string
	shared  string
	workers map[string]*process
}

// newTooled starts the workers. What held says is not answered before the service is freed.
func newTooled(t testing.TB, w *world, held func(backendtest.Call) bool) *tooled {
	t.Helper()
	m := &tooled{world: w.of(t), service: newService(t, noting), desk: newDesk(t), workers: map[string]*process{}}
	m.service.held = held
	m.shared = m.share()
	lines := m.service.agents(2, "orchestrator: {snapshot_storage: SHARED/snapshots}")
	for i, more := range []string{"cwd: SHARED/agent1, " + m.desk.server(), m.desk.server()} {
		model := fmt.Sprintf("model: agent%d", i+1)
		lines[1+i] = strings.Replace(lines[1+i], model, model+", "+more, 1)
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
func (m *tooled) home() *process {
	m.t.Helper()
	history := m.histories()[0].Events
	pid := 0
	for _, ev := range history {
		if ev.EventType != enums.EVENT_TYPE_ACTIVITY_TASK_STARTED {
			continue
		}
		started := ev.GetActivityTaskStartedEventAttributes()
		queue := history[started.ScheduledEventId-1].GetActivityTaskScheduledEventAttributes().TaskQueue.Name
		if !strings.Contains(queue, "/worker/") {
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
func calls(r report.Result) (told []string) {
	for _, c := range r.ToolCalls {
		told = append(told, fmt.Sprintf("%s %s %s: %s", c.Agent, c.Name, c.State, c.Result))
	}
	return told
}

// checkRequests checks that no answered call was repeated. A call that its worker held at the kill may
// be repeated.
func (m *tooled) checkRequests(r report.Result) {
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

// isBetween reports whether a call is agent1's after its second tool call, or agent2's after its first.
func isBetween(c backendtest.Call) bool {
	said := len(c.Messages()) - 2 // by the model and its tools
	return isBlind(c) && (c.Model() == "agent1" && said == 4 || c.Model() == "agent2" && said == 2)
}

// TestWorkerThatHasTheToolsIsKilled between two calls, or with -kill-everywhere in a call. The
// agents lose their tools: each learns so by its next call, and goes on without.
// temporal/engine has both where time is free.
func TestWorkerThatHasTheToolsIsKilled(t *testing.T) {
	t.Parallel()
	w := newLosingWorld(t)
	kills := map[string]func(*testing.T, *world){"between two calls": checkToolsAreLost}
	if *killEverywhere {
		kills["in a call"] = checkToolCallIsNotRepeated
	}
	for name, check := range kills {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			check(t, w)
		})
	}
}

// lostTo is the result of a tool call whose worker is lost.
func lostTo(agent, more string) string {
	return "Error: the worker on which the tools and files of " + agent + " were is lost" + more + ". Go on without them."
}

func checkToolsAreLost(t *testing.T, w *world) {
	m := newTooled(t, w, isBetween)
	client := m.ask(m.config, "energy?")
	m.until("agent1 and agent2 are between their calls", func() bool { return m.service.holds() == 2 })
	m.home().kill()
	m.service.free()
	r := m.result(client)
	m.checkHistories("home lost")
	want := []string{
		`agent1 write_file ran: {"success":true,"path":"note.txt","size":8,"created":true}`,
		"agent1 mcp__own__ask ran: of agent1, as call 1 of this server",
		"agent1 read_file interrupted: " + lostTo("agent1", ""),
		"agent1 mcp__own__ask interrupted: " + lostTo("agent1", ""),
		"agent2 mcp__own__ask ran: of agent2, as call 1 of this server",
		"agent2 mcp__own__ask interrupted: " + lostTo("agent2", ""),
	}
	got := calls(r)
	slices.Sort(got)
	slices.Sort(want)
	if r.Status != "completed" || r.Winner != "agent1" || len(r.Failed) > 0 || !slices.Equal(got, want) {
		t.Errorf("%s, %s has won, failed: %v\n%s", r.Status, r.Winner, r.Failed, strings.Join(got, "\n"))
	}
	asked := m.desk.asked()
	slices.Sort(asked)
	if !slices.Equal(asked, []string{"of agent1", "of agent2"}) {
		t.Errorf("the MCP servers were asked %q", asked)
	}
	if warnings := strings.Join(r.Warnings, "\n"); !strings.Contains(warnings, "the workspace of agent1 could not be kept") {
		t.Errorf("the warnings are %s", warnings)
	}
	m.checkRequests(r)
}

// checkToolCallIsNotRepeated checks that the agent learns that the result of the call under way is
// unknown.
func checkToolCallIsNotRepeated(t *testing.T, w *world) {
	m := newTooled(t, w, func(backendtest.Call) bool { return false })
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
	var got []string
	for _, c := range r.ToolCalls {
		if c.Agent == "agent1" && c.State == effect.ToolInterrupted {
			got = append(got, c.Result)
		}
	}
	want := []string{lostTo("agent1", ", and what this call has done is not known"), lostTo("agent1", ""), lostTo("agent1", "")}
	if r.Status != "completed" || !slices.Equal(got, want) {
		t.Errorf("%s\n%s", r.Status, strings.Join(got, "\n"))
	}
	if asked := m.desk.asked(); len(slices.DeleteFunc(asked, func(what string) bool { return what != "of agent1" })) != 1 {
		t.Errorf("it was asked %d times", len(asked))
	}
}
