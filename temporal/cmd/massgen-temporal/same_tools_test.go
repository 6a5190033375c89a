package main

import (
	"strings"
	"testing"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/coordinator/report"
	"github.com/massgen/massgen/tests/backendtest"
)

// toolScenarios returns the scenarios of agents with tools. AGENT, SHARED and DESK in the lines for the
// agents' backends stand for the agent's id, a folder that all see, and an MCP server.
func toolScenarios() []scenario {
	const folders = "cwd: SHARED/AGENT"
	storage := []string{"orchestrator: {snapshot_storage: SHARED/snapshots}"}
	return []scenario{
		{name: "files", agents: 3, config: storage, backend: folders, reply: workingOnFiles, historyLimit: 60, turns: []string{
			"agent1 agent2 agent1 agent3 agent2 agent3 " + "agent2 agent1 agent3 agent1 agent2 agent3 agent1 " + "agent3 agent1 agent2 agent1 agent2 agent3",
		}, check: func(t testing.TB, r report.Result) {
			completed("agent1")(t, r)
			read, listed := 0, 0
			for _, c := range r.ToolCalls {
				read += strings.Count(c.Result, `"content":"agent1 has read: agent2 was here"`)
				listed += strings.Count(c.Result, `"path":"answers/agent1/note.txt","type":"file","size":32`)
			}
			if len(r.ToolCalls) != 10 || read != 2 || listed != 1 || r.Snapshot == "" {
				t.Errorf("the better note was read %d times and listed %d times; the work is in %q: %+v", read, listed, r.Snapshot, r.ToolCalls)
			}
		}},
		{name: "tools at once", agents: 2, config: storage, backend: folders + ", DESK", reply: atOnce, turns: []string{
			"agent2 agent1 agent1 agent2 agent1",
		}, check: func(t testing.TB, r report.Result) {
			completed("agent2")(t, r)
			if len(r.ToolCalls) != 2 || !strings.HasPrefix(r.ToolCalls[0].Result, "after the others") || r.ToolCalls[1].Name != "write_file" {
				t.Errorf("%+v", r.ToolCalls)
			}
		}},
		{name: "MCP server", agents: 2, backend: "DESK", reply: asking, turns: []string{
			"agent1 agent1 agent2 agent1 agent1 agent2 agent1",
		}, check: func(t testing.TB, r report.Result) {
			completed("agent2")(t, r)
			if len(r.ToolCalls) != 3 || r.ToolCalls[1].Result != "again, as call 2 of this server" || !r.ToolCalls[2].Error {
				t.Errorf("%+v", r.ToolCalls)
			}
		}},
		{name: "budget", agents: 2, together: 2, config: []string{"budget: {max_calls: 3}"}, backend: "DESK", reply: asking, turns: []string{
			"agent2 agent1 agent1",
		}, check: func(t testing.TB, r report.Result) {
			if r.Status != "budget" || r.Winner != "agent2" || len(r.ToolCalls) != 2 || r.Usage.Calls != 3 {
				t.Errorf("%s, %s has won, with %+v and %+v", r.Status, r.Winner, r.ToolCalls, r.Usage)
			}
		}},
	}
}

// TestALongTurnWithToolsAndABudget goes on as new runs, with its files and what it has spent. Chance decides
// the order of its calls in the journal.
func TestALongTurnWithToolsAndABudget(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r, _ := w.playThere(scenario{
		name: "files with a budget", agents: 3, backend: "cwd: SHARED/AGENT", reply: workingOnFiles, historyLimit: 60,
		config: []string{"orchestrator: {snapshot_storage: SHARED/snapshots}", "budget: {max_calls: 60, max_tokens: 200000}"},
		turns:  []string{"agent1 agent2 agent1 agent3 agent2 agent3 " + "agent2 agent1 agent3 agent1 agent2 agent3 agent1 " + "agent3 agent1 agent2 agent1 agent2 agent3"},
	})
	completed("agent1")(t, r)
	if r.Budget == nil || r.Budget.SpentCalls != 19 || len(r.ToolCalls) != 10 {
		t.Errorf("%d tool calls, budget %+v", len(r.ToolCalls), r.Budget)
	}
	if runs := len(w.histories()); runs < 2 {
		t.Errorf("%d runs", runs)
	}
}

// step is the reply to a call whose step has the results of so many messages already: the
// last one where there are more.
func step(c backendtest.Call, replies ...backendtest.Reply) backendtest.Reply {
	said := 0
	for _, m := range c.Messages() {
		if m.Role == backends.RoleAssistant {
			said++
		}
	}
	return replies[min(said, len(replies)-1)]
}

func newAnswer(format string, args ...any) backendtest.Reply {
	return act("new_answer", `{"content":"`+format+`"}`, args...)
}

func vote(agent string) backendtest.Reply {
	return act("vote", `{"agent_id":"%s","reason":"it is the clearest"}`, agent)
}

// workingOnFiles has all write a file, agent1 read one of another and improve its own, and
// the others look at that.
func workingOnFiles(c backendtest.Call) backendtest.Reply {
	switch {
	case isBlind(c):
		return step(c, act("write_file", `{"path":"note.txt","content":"%s was here"}`, c.Model()), newAnswer("see the note of %s", c.Model()))
	case c.Model() == "agent1" && !strings.Contains(c.User(), "a better note"):
		return step(c, act("read_file", `{"path":"answers/agent2/note.txt"}`),
			act("write_file", `{"path":"note.txt","content":"agent1 has read: agent2 was here"}`), newAnswer("see a better note"))
	case c.Model() == "agent2":
		return step(c, act("list_files", `{"path":"answers","depth":4}`), vote("agent1"))
	}
	return step(c, act("read_file", `{"path":"answers/agent1/note.txt"}`), vote("agent1"))
}

// waits is what is asked for that comes after the other tool calls of its message.
const waits = "after the others"

// atOnce makes agent1 call two tools in one message. The first ends last.
func atOnce(c backendtest.Call) backendtest.Reply {
	if c.Model() != "agent1" || !isBlind(c) {
		return agreeable(c)
	}
	both := act("mcp__own__ask", `{"what":"`+waits+`"}`)
	both.ToolCalls = append(both.ToolCalls, backends.ToolCall{ID: "call_2", Name: "write_file", Arguments: `{"path":"a","content":"b"}`})
	return step(c, both, agreeable(c))
}

// asking has agent1 ask its MCP server, before it answers and before it votes.
func asking(c backendtest.Call) backendtest.Reply {
	switch {
	case c.Model() != "agent1":
		return agreeable(c)
	case isBlind(c):
		return step(c, act("mcp__own__ask", `{"what":"first"}`), act("mcp__own__ask", `{"what":"again"}`), agreeable(c))
	}
	return step(c, act("mcp__own__ask", `{"what":"fail"}`), agreeable(c))
}
