package coordinator

import (
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/massgen/massgen/agents"
	"github.com/massgen/massgen/coordinator/report"
	"github.com/massgen/massgen/internal/coordination/budget"
)

// TestEventsOfAStep has what seed 000 asks to be told of while a turn runs.
func TestEventsOfAStep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, _ := panelOf(t, 1, `
rules:
  - {when: {last: tool}, reply: {reasoning: "So far.", text: "it is one", chunks: 3, usage: {input_tokens: 9, output_tokens: 3}}}
  - {when: {}, reply: {tool_calls: [{name: count, arguments: {}}], usage: {input_tokens: 5, output_tokens: 2}}}
`, nil, func(o *Options) { o.Agents[0].Tools = []agents.Tool{&counter{}} })
		var text, others []string
		var used budget.Usage
		for ev := range start(t, p, "how many?").Events(t.Context()) {
			switch ev := ev.(type) {
			case report.TextDelta:
				text = append(text, ev.Text)
			case report.Thinking:
				others = append(others, "thinking "+ev.Text)
			case report.ToolCalled:
				others = append(others, "calls "+ev.Tool)
			case report.Answered:
				used = ev.Usage
			case report.Ended:
				others = append(others, "ended "+ev.Status)
			}
		}
		if got := strings.Join(text, ""); got != "it is one" || len(text) != 3 {
			t.Errorf("the text was told as %q", text)
		}
		if diff := cmp.Diff([]string{"calls count", "thinking So far.", "ended completed"}, others); diff != "" {
			t.Errorf("the other events (-want +got):\n%s", diff)
		}
		if used.Calls != 2 || used.InputTokens != 14 || used.OutputTokens != 5 {
			t.Errorf("the step's usage was told as %+v", used)
		}
	})
}
