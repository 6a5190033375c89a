package coordinator

import (
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/massgen/massgen/agents"
	"github.com/massgen/massgen/contextbuild/policy"
	"github.com/massgen/massgen/coordinator/turn"
)

// TestSessionEventsAsJSON holds the fields to those of seed 000.
func TestSessionEventsAsJSON(t *testing.T) {
	cost := 0.5
	for want, ev := range map[string]Event{
		`{"at":"0001-01-01T00:00:00Z","kind":"session_updated","session":{"session_id":"s","message_count":6,` +
			`"usage_total":{"calls":7,"input_tokens":100,"output_tokens":20,"cached_input_tokens":10,"unknown_calls":1,"cost_usd":0.5}}}`: {
			Kind: SessionUpdated, Session: &SessionUpdate{SessionID: "s", MessageCount: 6, UsageTotal: turn.Usage{
				Calls: 7, InputTokens: 100, OutputTokens: 20, CachedInputTokens: 10, UnknownCalls: 1, CostUSD: &cost,
			}},
		},
		`{"at":"0001-01-01T00:00:00Z","kind":"context_warning","agent":"a",` +
			`"context":{"session_id":"s","message_count":6,"estimated_tokens":900,"warning":"approaching_limit"}}`: {
			Kind: ContextWarned, Agent: "a",
			Context: &ContextWarning{SessionID: "s", MessageCount: 6, EstimatedTokens: 900, Warning: policy.ApproachingLimit},
		},
	} {
		data, err := json.Marshal(ev)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, string(data)); diff != "" {
			t.Error(diff)
		}
	}
}

// TestEventsOfAStep has what seed 000 asks to be told of while a turn runs.
func TestEventsOfAStep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, _ := panelOf(t, 1, `
rules:
  - {when: {last: tool}, reply: {reasoning: "So far.", text: "it is one", chunks: 3, usage: {input_tokens: 9, output_tokens: 3}}}
  - {when: {}, reply: {tool_calls: [{name: count, arguments: {}}], usage: {input_tokens: 5, output_tokens: 2}}}
`, nil, func(o *Options) { o.Agents[0].Tools = []agents.Tool{&counter{}} })
		texts := map[EventKind][]string{}
		var used turn.Usage
		for ev := range start(t, p, "how many?").Events(t.Context()) {
			texts[ev.Kind] = append(texts[ev.Kind], ev.Text)
			if ev.Kind == Answered {
				used = ev.Usage
			}
		}
		if got := strings.Join(texts[TextDelta], ""); got != "it is one" || len(texts[TextDelta]) != 3 {
			t.Errorf("the text was told as %q", texts[TextDelta])
		}
		for kind, want := range map[EventKind]string{Thinking: "So far.", ToolCalled: "count", Ended: "completed"} {
			if diff := cmp.Diff([]string{want}, texts[kind]); diff != "" {
				t.Errorf("%s (-want +got):\n%s", kind, diff)
			}
		}
		if used.Calls != 2 || used.InputTokens != 14 || used.OutputTokens != 5 {
			t.Errorf("the step's usage was told as %+v", used)
		}
	})
}
