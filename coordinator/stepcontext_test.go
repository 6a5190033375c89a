package coordinator

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/massgen/massgen/agents"
	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/coordinator/report"
	"github.com/massgen/massgen/debugbackend"
	"github.com/massgen/massgen/internal/coordination/effect"
	"github.com/massgen/massgen/internal/coordination/kernel"
	"github.com/massgen/massgen/internal/coordination/policy"
	"github.com/massgen/massgen/internal/models/prices"
)

// tape is a tool that has much to say.
type tape struct{ gauge }

func (tape) Call(_ context.Context, arguments string) (string, error) {
	return "measured " + arguments + strings.Repeat(" and more", 40), nil
}

// measuresOn uses the tool as long as it may.
const measuresOn = `
rules:
  - {when: {tools: [gauge]}, reply: {tool_calls: [{id: a, name: gauge, arguments: {}}]}}
  - {when: {purpose: conversation}, reply: {text: "So much."}}
  - {when: {round: 1}, reply: {new_answer: "{{.Agent}} has measured"}}
  - {when: {}, reply: {vote: {agent: agent2, reason: "it is short"}}}
`

const longStep = 60

func measuringOn(r *debugbackend.Recorder, contexts ...agents.Context) func(*Options) {
	return func(o *Options) {
		o.Limits = effect.DefaultLimits()
		o.Limits.MaxTurns, o.Limits.MaxToolCalls = longStep+1, 0
		recorded(r, contexts...)(o)
		for i := range o.Agents {
			o.Agents[i].Tools = []agents.Tool{tape{}}
		}
	}
}

func stepContextOf(kind policy.Kind, window int) agents.Context {
	c := agents.Context{Policy: policy.Defaults(), Window: window}
	c.Policy.Kind = kind
	return c
}

// inputsOf are the messages of the calls that an agent makes in its first step of a turn.
func inputsOf(r *debugbackend.Recorder, agent string) (list [][]backends.Message) {
	for _, call := range r.Calls() {
		if call.Request.Key.Agent == agent && call.Request.Key.Round <= 1 {
			list = append(list, call.Request.Messages)
		}
	}
	return list
}

// TestLongStepIsHeldToThePolicy has an agent alone call a tool sixty times.
func TestLongStepIsHeldToThePolicy(t *testing.T) {
	t.Parallel()
	const window = 4000
	for name, c := range map[string]struct {
		context agents.Context
		// moves are the calls, from 0, whose input is not the one before and something more.
		moves []int
		told  string
		// warned are the context warnings that the result has, with the messages that the
		// step had by then and the tokens that are sent of them.
		warned []report.ContextWarning
	}{
		"full": {context: stepContextOf(policy.Full, 0)},
		"full in a small window": {
			context: stepContextOf(policy.Full, window), moves: []int{20, 31, 42, 53},
			told: "in a long step of agent1 44 earlier messages and 44 tool results were left out, which would not fit; policy full",
			warned: []report.ContextWarning{
				{MessageCount: 32, EstimatedTokens: 2502, Warning: policy.ApproachingLimit},
				{MessageCount: 38, EstimatedTokens: 2965, Warning: policy.AtLimit},
				{MessageCount: 40, EstimatedTokens: 1422, Warning: policy.AtLimit, LeftOut: true},
			},
		},
		"prune": {
			context: stepContextOf(policy.Prune, 0), moves: []int{26, 47},
			told: "in a long step of agent1 42 earlier messages and 42 tool results were left out; policy prune",
		},
		"window": {
			context: stepContextOf(policy.Window, 0), moves: []int{4, 7, 10, 13, 16, 19, 22, 25, 28, 31, 34, 37, 40, 43, 46, 49, 52, 55, 58},
			told: "in a long step of agent1 57 earlier messages and 57 tool results were left out; policy window",
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				recorder := debugbackend.NewRecorder(debugbackend.Options{})
				p, store := panelOf(t, 1, measuresOn, nil, measuringOn(recorder, c.context))
				last := start(t, p, "how much?")
				r := wait(t, last)
				inputs := inputsOf(recorder, "agent1")
				if r.Status != kernel.Completed || len(inputs) != longStep+1 {
					t.Fatalf("%s after %d calls", r.Status, len(inputs))
				}
				var moves []int
				for i, messages := range inputs[1:] {
					before := inputs[i]
					if len(before) > len(messages) || cmp.Diff(before, messages[:len(before)]) != "" {
						moves = append(moves, i+1)
					}
					if n := (prices.Counter{}).Messages(messages).Tokens; c.context.Window > 0 && n > window*3/4 {
						t.Errorf("call %d is sent %d tokens", i+1, n)
					}
				}
				if diff := cmp.Diff(c.moves, moves); diff != "" || strings.Join(r.Warnings, "\n") != c.told {
					t.Errorf("warnings %q; the inputs that begin anew (-want +got):\n%s", r.Warnings, diff)
				}
				checkStepWarnings(t, last, r, c.warned)
				rebuilds(t, store, recorder, 1)
				if turn := onlyTurn(t, store, "s"); turn.MessageCount != 2*longStep+2 {
					t.Errorf("%d messages are kept", turn.MessageCount)
				}
			})
		})
	}
}

// summingUp are rules by which the summaries of steps are made.
const summingUp = `
rules:
  - {when: {purpose: step_summary, index: 1}, reply: {error: {kind: auth, message: "wrong key"}}}
  - {when: {purpose: step_summary, contains: "Summary of what came before:\nMeasured at first."}, reply: {text: "Measured further."}}
  - {when: {purpose: step_summary, contains: "Summary of what came before:\nMeasured further."}, reply: {text: "Measured further."}}
  - {when: {purpose: step_summary}, reply: {text: "Measured at first."}}
`

func summingStep(r *debugbackend.Recorder, window int) func(*Options) {
	return func(o *Options) {
		measuringOn(r, stepContextOf(policy.Summarize, window))(o)
		o.Summarizer = &Summarizer{SidecallModel: SidecallModel{Backend: o.Agents[0].Backend, Model: "small"}, Window: window}
	}
}

// TestLongStepIsSummarized: what is left out of it stands in a summary, which takes up the one
// before. One that fails leaves that in its place.
func TestLongStepIsSummarized(t *testing.T) {
	t.Parallel()
	script := summingUp + strings.TrimPrefix(measuresOn, "\nrules:\n")
	for name, c := range map[string]struct {
		window int
		warns  []string
		// told is what stands in the last input for what is left out.
		told string
	}{
		"by messages": {0, []string{
			"in a long step of agent1 42 earlier messages and 42 tool results were left out, and summarized; policy summarize",
			"a call for a summary of it came to nothing: scripted: auth: wrong key",
		}, "[42 earlier messages and 42 tool results were left out]\n\n[summary of earlier messages]\nMeasured at first.\n[end of the summary]"},
		"in a small window": {4000, []string{
			"in a long step of agent1 54 earlier messages and 54 tool results were left out, which would not fit, and summarized; policy summarize",
			"a call for a summary of it came to nothing: scripted: auth: wrong key",
		}, "[54 earlier messages and 54 tool results were left out]\n\n[summary of earlier messages]\nMeasured further.\n[end of the summary]"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				recorder := debugbackend.NewRecorder(debugbackend.Options{})
				p, store := panelOf(t, 1, script, nil, summingStep(recorder, c.window))
				last := start(t, p, "how much?")
				r := wait(t, last)
				inputs := inputsOf(recorder, "agent1")
				if got := inputs[len(inputs)-1][0].Text(); r.Status != kernel.Completed || !strings.HasSuffix(got, c.told) {
					t.Errorf("%s; the last input tells %q", r.Status, got)
				}
				if !slices.Equal(r.Warnings, c.warns) {
					t.Errorf("warnings %q", r.Warnings)
				}
				checkStepSummaries(t, last, recorder, c.window)
				rebuilds(t, store, recorder, 1)
			})
		})
	}
}

// checkStepSummaries looks at the calls for the summaries of agent1's step.
func checkStepSummaries(t *testing.T, last *Turn, r *debugbackend.Recorder, window int) {
	t.Helper()
	n := 0
	for _, call := range r.Calls() {
		req := call.Request
		if req.Key.Purpose != "step_summary" {
			continue
		}
		text := req.Messages[1].Text()
		if req.Model != "small" || !strings.Contains(text, "The task:\nhow much?") || !strings.Contains(text, "Result of gauge:\nmeasured") || len(req.Tools) > 0 {
			t.Errorf("%s asks %s: %.400q", req.Key, req.Model, text)
		}
		if size := (prices.Counter{}).Request(req).Tokens; window > 0 && size > window*3/4 {
			t.Errorf("%s has %d tokens", req.Key, size)
		}
		n++
	}
	begun, failed := len(eventsOf[report.SidecallStarted](t, last)), len(eventsOf[report.SidecallFailed](t, last))
	if ended := len(eventsOf[report.SidecallEnded](t, last)); n < 2 || begun != n || failed != 1 || ended != n-1 {
		t.Errorf("%d calls for summaries; told were %d that began, %d that ended and %d that failed", n, begun, ended, failed)
	}
}

// checkStepWarnings looks for the context warnings of a turn, mildest first.
func checkStepWarnings(t *testing.T, last *Turn, r report.Result, want []report.ContextWarning) {
	t.Helper()
	list, events := []report.AgentContextWarning{}, []report.ContextWarned(nil)
	for _, w := range want {
		w.SessionID, w.Round, w.Estimated, w.Window, w.Limit = "s", 1, true, 4000, 3000
		list = append(list, report.AgentContextWarning{Agent: "agent1", ContextWarning: w})
		events = append(events, report.ContextWarned{Actor: report.Actor{Agent: "agent1", Round: 1}, Context: w})
	}
	if diff := cmp.Diff(list, r.ContextWarnings); diff != "" {
		t.Errorf("the result's warnings of the context (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(events, eventsOf[report.ContextWarned](t, last), headless()); diff != "" {
		t.Errorf("the warnings (-want +got):\n%s", diff)
	}
}

// TestStepsOfAPanelAreWarnedOf has three agents with contexts of their own work on and
// on: one nears its limit, reaches it and goes over it.
func TestStepsOfAPanelAreWarnedOf(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		recorder := debugbackend.NewRecorder(debugbackend.Options{})
		p, store := panelOf(t, 3, measuresOn, nil, func(o *Options) {
			measuringOn(recorder, stepContextOf(policy.Full, 4000), stepContextOf(policy.Prune, 0), agents.Context{})(o)
			most := 100
			o.Agents[0].Params.MaxTokens = &most
		})
		r := wait(t, start(t, p, "how much?"))
		want := []string{
			"in a long step of agent1 48 earlier messages and 48 tool results were left out, which would not fit; policy full",
			"in a long step of agent2 42 earlier messages and 42 tool results were left out; policy prune",
		}
		if diff := cmp.Diff(want, r.Warnings); diff != "" {
			t.Errorf("the result's warnings (-want +got):\n%s", diff)
		}
		var told []string
		for _, w := range r.ContextWarnings {
			told = append(told, fmt.Sprintf("%s %s round %d left out %t", w.Agent, w.Warning, w.Round, w.LeftOut))
		}
		want = []string{
			"agent1 approaching_limit round 1 left out false", "agent1 at_limit round 1 left out false", "agent1 at_limit round 1 left out true",
		}
		if diff := cmp.Diff(want, told); diff != "" {
			t.Errorf("the result's warnings of the context (-want +got):\n%s", diff)
		}
		rebuilds(t, store, recorder, 1)
	})
}

// TestResumedStepIsShortenedAsItWas goes on in the middle of a step, by another policy
// than that of the process that began it.
func TestResumedStepIsShortenedAsItWas(t *testing.T) {
	t.Parallel()
	for name, begun := range map[string]func(*debugbackend.Recorder) func(*Options){
		"full":      func(r *debugbackend.Recorder) func(*Options) { return measuringOn(r, stepContextOf(policy.Full, 4000)) },
		"summarize": func(r *debugbackend.Recorder) func(*Options) { return summingStep(r, 0) },
	} {
		t.Run(name, func(t *testing.T) { synctest.Test(t, func(t *testing.T) { checkResumedStep(t, begun) }) })
	}
}

func checkResumedStep(t *testing.T, begun func(*debugbackend.Recorder) func(*Options)) {
	script := summingUp + strings.TrimPrefix(measuresOn, "\nrules:\n")
	recorder := debugbackend.NewRecorder(debugbackend.Options{})
	p, store := panelOf(t, 1, script, nil, begun(recorder))
	want := wait(t, start(t, p, "how much?"))
	whole := inputsOf(recorder, "agent1")
	journal, err := store.Journal(t.Context(), "s", 1, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []int{1, 2, len(journal) / 3, len(journal) / 2, len(journal) - 1} {
		id := fmt.Sprintf("left after %d", n)
		_, err := store.Begin(t.Context(), id, "how much?")
		for _, event := range journal[:n] {
			if err == nil {
				err = store.Append(t.Context(), id, 1, event)
			}
		}
		if err == nil {
			err = store.Leave(t.Context(), id, 1)
		}
		if err != nil {
			t.Fatal(err)
		}
		again := debugbackend.NewRecorder(debugbackend.Options{})
		other, _ := panelOf(t, 1, script, nil, func(o *Options) {
			measuringOn(again)(o)
			o.Summarizer = &Summarizer{SidecallModel: SidecallModel{Backend: o.Agents[0].Backend, Model: "another"}}
			o.Store = store
		})
		resumed, err := other.Resume(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		got := wait(t, resumed)
		rest := inputsOf(again, "agent1")
		if diff := cmp.Diff(whole[len(whole)-len(rest):], rest); diff != "" || len(rest) == 0 {
			t.Errorf("%s: the %d inputs that follow differ (-sent +resumed):\n%s", id, len(rest), diff)
		}
		if got = timeless(got); !slices.Equal(want.Warnings, got.Warnings) {
			t.Errorf("%s: the result warns %q, want %q", id, got.Warnings, want.Warnings)
		}
	}
}
