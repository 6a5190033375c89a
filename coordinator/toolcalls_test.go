package coordinator

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/massgen/massgen/agents"
	"github.com/massgen/massgen/agents/machine"
	"github.com/massgen/massgen/backends"
)

// slow is a tool that takes two seconds, and fails where it is told to.
type slow struct{}

func (slow) Definition() backends.Tool {
	return backends.Tool{Name: "work", Schema: []byte(`{"type":"object"}`)}
}

func (slow) Call(_ context.Context, arguments string) (string, error) {
	time.Sleep(2 * time.Second)
	if strings.Contains(arguments, "fail") {
		return "", errors.New("no disk")
	}
	return strings.Repeat("x", mostTold+1), nil
}

// TestToolsAreTold as events and in the result: each model call with what it is sent,
// each tool with its arguments, the beginning of its result, and its time.
func TestToolsAreTold(t *testing.T) {
	script := `
rules:
  - {when: {index: 0}, reply: {tool_calls: [{name: work, arguments: {do: it}}, {name: work, arguments: {do: fail}}]}}
  - {when: {}, reply: {text: "done"}}
`
	synctest.Test(t, func(t *testing.T) {
		p, _ := panelOf(t, 1, script, nil, func(o *Options) { o.Agents[0].Tools = []agents.Tool{slow{}} })
		turn := start(t, p, "energy")
		r := wait(t, turn)
		good := ToolCall{Name: "work", Arguments: `{"do":"it"}`, State: machine.ToolRan, Result: strings.Repeat("x", mostTold) + "…"}
		bad := ToolCall{Name: "work", Arguments: `{"do":"fail"}`, State: machine.ToolRan, Result: "Error: no disk", Error: true}
		var calls []ModelCall
		for _, ev := range eventsOf(t, turn, CallStarted) {
			calls = append(calls, *ev.Call)
		}
		if diff := cmp.Diff([]ModelCall{{1, []string{"work"}}, {2, []string{"work"}}}, calls); diff != "" {
			t.Errorf("model calls (-want +got):\n%s", diff)
		}
		started := map[string]bool{}
		for _, ev := range eventsOf(t, turn, ToolStarted) {
			started[ev.Tool.Arguments] = ev.Agent == "agent1" && ev.Round == 1 && ev.Tool.Result == "" && ev.Tool.State == ToolRunning
		}
		if diff := cmp.Diff(map[string]bool{good.Arguments: true, bad.Arguments: true}, started); diff != "" {
			t.Errorf("tools that started (-want +got):\n%s", diff)
		}
		ended := map[string]ToolCall{}
		for _, ev := range eventsOf(t, turn, ToolEnded) {
			ended[ev.Tool.Arguments] = *ev.Tool
			if ev.Elapsed != 2*time.Second {
				t.Errorf("%s took %v", ev.Tool.Arguments, ev.Elapsed)
			}
		}
		if diff := cmp.Diff(map[string]ToolCall{good.Arguments: good, bad.Arguments: bad}, ended); diff != "" {
			t.Errorf("tools that ended (-want +got):\n%s", diff)
		}
		want := []ResultToolCall{{"agent1", 1, good, 2000}, {"agent1", 1, bad, 2000}}
		if diff := cmp.Diff(want, r.ToolCalls); diff != "" {
			t.Errorf("the result's tool calls (-want +got):\n%s", diff)
		}
		if steps := eventsOf(t, turn, Answered); len(steps) != 1 || steps[0].ToolCalls != 2 || steps[0].Usage.Calls != 2 {
			t.Errorf("the step's end: %+v", steps)
		}
	})
}
