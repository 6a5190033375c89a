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
	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/coordinator/report"
	"github.com/massgen/massgen/internal/coordination/effect"
)

// slow is a tool that takes two seconds, and fails where it is told to.
type slow struct{}

func (slow) Idempotent() bool { return true }

func (slow) Definition() backends.Tool {
	return backends.Tool{Name: "work", Schema: []byte(`{"type":"object"}`)}
}

func (slow) Call(_ context.Context, arguments string) (string, error) {
	time.Sleep(2 * time.Second)
	if strings.Contains(arguments, "fail") {
		return "", errors.New("no disk")
	}
	return strings.Repeat("x", 1000+1), nil
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
		good := report.ToolCall{Name: "work", Arguments: `{"do":"it"}`, State: effect.ToolRan, Result: strings.Repeat("x", 1000) + "…"}
		bad := report.ToolCall{Name: "work", Arguments: `{"do":"fail"}`, State: effect.ToolRan, Result: "Error: no disk", Error: true}
		calls := map[int][]string{}
		for _, ev := range eventsOf[report.CallStarted](t, turn) {
			calls[ev.Number] = ev.Tools
		}
		if diff := cmp.Diff(map[int][]string{1: {"work"}, 2: {"work"}}, calls); diff != "" {
			t.Errorf("model calls (-want +got):\n%s", diff)
		}
		started := map[string]bool{}
		for _, ev := range eventsOf[report.ToolStarted](t, turn) {
			started[ev.Tool.Arguments] = ev.Agent == "agent1" && ev.Round == 1 && ev.Tool.Result == "" && ev.Tool.State == report.ToolRunning
		}
		if diff := cmp.Diff(map[string]bool{good.Arguments: true, bad.Arguments: true}, started); diff != "" {
			t.Errorf("tools that started (-want +got):\n%s", diff)
		}
		ended := map[string]report.ToolCall{}
		for _, ev := range eventsOf[report.ToolEnded](t, turn) {
			ended[ev.Tool.Arguments] = ev.Tool
			if ev.Elapsed != 2*time.Second {
				t.Errorf("%s took %v", ev.Tool.Arguments, ev.Elapsed)
			}
		}
		if diff := cmp.Diff(map[string]report.ToolCall{good.Arguments: good, bad.Arguments: bad}, ended); diff != "" {
			t.Errorf("tools that ended (-want +got):\n%s", diff)
		}
		want := []report.ResultToolCall{resultCall(good, 2000), resultCall(bad, 2000)}
		if diff := cmp.Diff(want, r.ToolCalls); diff != "" {
			t.Errorf("the result's tool calls (-want +got):\n%s", diff)
		}
		if steps := eventsOf[report.Answered](t, turn); len(steps) != 1 || steps[0].ToolCalls != 2 || steps[0].Usage.Calls != 2 {
			t.Errorf("the step's end: %+v", steps)
		}
	})
}

// TestRefusedCallsAreTold, by a rule and by a person: they stand among those that ran, with
// what the model is told, as they do in the events, and no time was spent on them.
func TestRefusedCallsAreTold(t *testing.T) {
	script := `
rules:
  - {when: {index: 0}, reply: {tool_calls: [{name: remove, arguments: {file: a}}, {name: remove, arguments: {file: b}}, {name: remove, arguments: {file: c}}]}}
  - {when: {}, reply: {text: "done"}}
`
	synctest.Test(t, func(t *testing.T) {
		p, _ := panelOf(t, 1, script, nil, func(o *Options) {
			o.Agents[0].Tools = []agents.Tool{remover{make(chan string, 1)}}
			o.Agents[0].Permit = func(_, arguments string) (effect.Permission, string) {
				switch arguments {
				case `{"file":"a"}`:
					return effect.Denied, "never a"
				case `{"file":"b"}`:
					return effect.Asked, "ask about b"
				}
				return effect.Allowed, ""
			}
			o.Approve = func(context.Context, Approval) (Decision, error) {
				time.Sleep(time.Second)
				return Decision{}, nil
			}
		})
		turn := start(t, p, "energy")
		no := func(why string) string {
			return "Error: this call is not permitted (" + why + "), and was not run. Go on without it, or in another way."
		}
		want := []report.ResultToolCall{
			resultCall(report.ToolCall{Name: "remove", Arguments: `{"file":"a"}`, State: effect.ToolDenied, Result: no("never a"), Error: true}, 0),
			resultCall(report.ToolCall{Name: "remove", Arguments: `{"file":"c"}`, State: effect.ToolRan, Result: "removed", Error: false}, 0),
			resultCall(report.ToolCall{Name: "remove", Arguments: `{"file":"b"}`, State: effect.ToolDenied, Result: no("the user said no"), Error: true}, 0),
		}
		r := wait(t, turn)
		if diff := cmp.Diff(want, r.ToolCalls); diff != "" {
			t.Errorf("the result's tool calls (-want +got):\n%s", diff)
		}
		var told []report.ResultToolCall
		for _, ev := range eventsOf[report.ToolEnded](t, turn) {
			told = append(told, report.ResultToolCall{Agent: ev.Agent, Round: ev.Round, ToolCall: ev.Tool, DurationMS: ev.Elapsed.Milliseconds()})
		}
		if diff := cmp.Diff(want, told); diff != "" {
			t.Errorf("the events (-want +got):\n%s", diff)
		}
		if steps := eventsOf[report.Answered](t, turn); len(steps) != 1 || steps[0].ToolCalls != 3 {
			t.Errorf("the step's end: %+v", steps)
		}
	})
}

// heeding is a tool that ends when it is told to.
type heeding struct{ slow }

func (heeding) Call(ctx context.Context, _ string) (string, error) {
	<-ctx.Done()
	return "", ctx.Err()
}

// TestInterruptedCallsAreCancelled: the one that runs, and the one that a person is asked
// about.
func TestInterruptedCallsAreCancelled(t *testing.T) {
	script := `
rules:
  - {reply: {tool_calls: [{name: work, arguments: {do: it}}, {name: work, arguments: {do: more}}]}}
`
	synctest.Test(t, func(t *testing.T) {
		p, _ := panelOf(t, 1, script, nil, func(o *Options) {
			o.Agents[0].Tools = []agents.Tool{heeding{}}
			o.Agents[0].Permit = func(_, arguments string) (effect.Permission, string) {
				if strings.Contains(arguments, "more") {
					return effect.Asked, "ask"
				}
				return effect.Allowed, ""
			}
			o.Approve = func(ctx context.Context, _ Approval) (Decision, error) {
				<-ctx.Done()
				return Decision{}, ctx.Err()
			}
		})
		turn := start(t, p, "energy")
		time.Sleep(3 * time.Second)
		turn.Cancel()
		cancelled := func(do string, ms int64) report.ResultToolCall {
			return resultCall(report.ToolCall{Name: "work", Arguments: `{"do":"` + do + `"}`, State: effect.ToolCancelled, Result: "Error: the call was cancelled", Error: true}, ms)
		}
		want := []report.ResultToolCall{cancelled("it", 3000), cancelled("more", 0)}
		if diff := cmp.Diff(want, wait(t, turn).ToolCalls); diff != "" {
			t.Errorf("the result's tool calls (-want +got):\n%s", diff)
		}
	})
}

// TestToolCallsAreKept with the turn: they are in its journal, as far as it goes.
func TestToolCallsAreKept(t *testing.T) {
	script := `
rules:
  - {when: {index: 0}, reply: {tool_calls: [{name: work, arguments: {do: it}}]}}
  - {when: {}, reply: {text: "done"}}
`
	synctest.Test(t, func(t *testing.T) {
		p, store := panelOf(t, 1, script, nil, func(o *Options) { o.Agents[0].Tools = []agents.Tool{slow{}} })
		want := wait(t, start(t, p, "energy")).ToolCalls
		got, err := ReadRecord(t.Context(), store, "s", 1)
		if diff := cmp.Diff(want, got.ToolCalls); diff != "" || err != nil || len(want) != 1 {
			t.Errorf("%v, kept are (-want +got):\n%s", err, diff)
		}
		journal, err := store.Journal(t.Context(), "s", 1, 0)
		if err != nil {
			t.Fatal(err)
		}
		running := []report.ResultToolCall{resultCall(report.ToolCall{Name: "work", Arguments: `{"do":"it"}`, State: report.ToolRunning}, 0)}
		got, err = ReadRecord(t.Context(), cutJournal{store, journal[:2]}, "s", 1)
		if diff := cmp.Diff(running, got.ToolCalls); diff != "" || err != nil {
			t.Errorf("%v, of a turn that was killed (-want +got):\n%s", err, diff)
		}
		for name, journal := range map[string][][]byte{"no beginning": journal[1:], "no event": {[]byte("{}")}} {
			if got, err := ReadRecord(t.Context(), cutJournal{store, journal}, "s", 1); err == nil {
				t.Errorf("%s: %+v", name, got)
			}
		}
		if got, err := ReadRecord(t.Context(), cutJournal{store, nil}, "s", 1); len(got.ToolCalls) > 0 || err != nil {
			t.Errorf("of no journal: %+v, %v", got, err)
		}
	})
}

// resultCall is a call of agent1 in the first round.
func resultCall(c report.ToolCall, ms int64) report.ResultToolCall {
	return report.ResultToolCall{Agent: "agent1", Round: 1, ToolCall: c, DurationMS: ms}
}

// cutJournal is a store with a part of a journal.
type cutJournal struct {
	Store
	journal [][]byte
}

func (c cutJournal) Journal(_ context.Context, _ string, _, from int) ([][]byte, error) {
	return c.journal[from:], nil
}

// meeting is a tool each of whose calls waits for another.
type meeting struct{ came chan struct{} }

func (meeting) Definition() backends.Tool {
	return backends.Tool{Name: "meet", Schema: []byte(`{"type":"object"}`)}
}

func (m meeting) Call(ctx context.Context, _ string) (string, error) {
	select {
	case m.came <- struct{}{}:
	case <-m.came:
	case <-ctx.Done():
		return "", ctx.Err()
	}
	return "met", nil
}

// TestToolsOfAMessageRunAtOnce would time out if one waited for the other's end.
func TestToolsOfAMessageRunAtOnce(t *testing.T) {
	const script = `
rules:
  - {when: {index: 0}, reply: {tool_calls: [{id: a, name: meet, arguments: {}}, {id: b, name: meet, arguments: {}}]}}
  - {when: {round: 1}, reply: {new_answer: "{{.Agent}}"}}
  - {when: {}, reply: {vote: {agent: agent1, reason: "r"}}}
`
	synctest.Test(t, func(t *testing.T) {
		p, _ := panelOf(t, 2, script, nil, func(o *Options) {
			o.Agents[0].Tools = []agents.Tool{meeting{make(chan struct{})}}
			o.Agents[1].Tools = []agents.Tool{meeting{make(chan struct{})}}
		})
		r := wait(t, start(t, p, "energy"))
		if len(r.ToolCalls) < 4 {
			t.Fatalf("%d tool calls", len(r.ToolCalls))
		}
		for _, c := range r.ToolCalls {
			if c.Error || c.Result != "met" {
				t.Errorf("%+v", c)
			}
		}
	})
}
