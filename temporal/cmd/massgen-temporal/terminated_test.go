package main

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"go.temporal.io/api/serviceerror"
)

// TestContinueFinishesWhatWasTerminated: somebody ends the workflow of a turn, and not
// its worker. --continue goes on with the turn when nobody is at work on it any
// more, and makes no finished call again, of a model or of a tool.
func TestContinueFinishesWhatWasTerminated(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.settings.Lease = 5 * time.Second
	m := newTooled(t, w, isBetween)
	client := m.ask(m.config, "energy?")
	m.until("agent1 and agent2 are between their calls", func() bool { return m.service.holds() == 2 })
	c := m.dial()
	m.answered("the end of the workflow", func() error {
		err := c.TerminateWorkflow(t.Context(), m.workflow(), "", "by the test")
		var ended *serviceerror.NotFound // by a call whose reply came too late
		if errors.As(err, &ended) {
			return nil
		}
		return err
	})
	<-client.ended
	if client.ProcessState.ExitCode() == 0 || !strings.Contains(client.stderr.String(), "terminated") {
		t.Errorf("exit status %d: %s", client.ProcessState.ExitCode(), client.stderr.String())
	}
	m.service.free()
	finishing := m.start("client", "--config", m.config, "--temporal-address", m.address, "--temporal-queue", m.queue(),
		"--session-id", "s", "--continue", "--json", "--automation")
	r := m.result(finishing)
	asked := m.desk.asked()
	slices.Sort(asked)
	if r.Status != "completed" || r.Winner != "agent1" || !slices.Equal(asked, []string{"of agent1", "of agent1 again", "of agent2", "of agent2 again"}) {
		t.Errorf("%s, %s has won; the MCP servers were asked %q", r.Status, r.Winner, asked)
	}
	if told := strings.Join(calls(r), "\n"); len(r.ToolCalls) != 6 || !strings.Contains(told, `"content":"the note"`) || strings.Contains(told, "interrupted") {
		t.Errorf("the tool calls are\n%s", told)
	}
	m.checkRequests(r)
}
