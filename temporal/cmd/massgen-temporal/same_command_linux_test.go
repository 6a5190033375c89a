package main

import (
	"testing"

	"github.com/massgen/massgen/coordinator/report"
	"github.com/massgen/massgen/tests/backendtest"
)

// TestEnginesCheckByTheSameCommand runs the command of a check behind the fence, which only Linux has.
func TestEnginesCheckByTheSameCommand(t *testing.T) {
	t.Parallel()
	newWorld(t).playBoth(scenario{
		name: "command", agents: 2, reply: learningFiles, backend: "cwd: SHARED/AGENT", config: []string{
			`orchestrator: {strategy: blind, snapshot_storage: SHARED/snapshots, check: {command: [sh, -c, "grep -q note && grep -q better note.txt"]}}`,
		}, turns: []string{"agent1 agent2 agent1 agent2 agent1 agent1 agent2 agent1"}, check: func(t testing.TB, r report.Result) {
			completed("agent2")(t, r)
			checkChecks(t, r, "agent2.1 true", "agent1.1 true")
		},
	})
}

// learningFiles has agent1 write a better note after the check of its first answer has failed.
func learningFiles(c backendtest.Call) backendtest.Reply {
	write := func(text string) backendtest.Reply {
		return act("write_file", `{"path":"note.txt","content":"%s"}`, text)
	}
	answer := newAnswer("see the note of %s", c.Model())
	switch {
	case !isBlind(c):
		return agreeable(c)
	case c.Model() == "agent2":
		return step(c, write("a better note"), answer)
	}
	return step(c, write("a note"), answer, write("a better note"), newAnswer("see the other note"))
}
