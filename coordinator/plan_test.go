package coordinator

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/massgen/massgen/agents"
	"github.com/massgen/massgen/internal/coordination/effect"
	"github.com/massgen/massgen/internal/coordination/kernel"
)

// describe plans every call.
func describe(_ agents.Tool, arguments string) (string, bool) {
	return "would be called with " + arguments, true
}

// TestPlannedToolsRunForTheFinalAnswer, and only described before it.
func TestPlannedToolsRunForTheFinalAnswer(t *testing.T) {
	script := `
rules:
  - {when: {round: 1, index: 0}, reply: {tool_calls: [{name: remove, arguments: {file: plan}}]}}
  - {when: {purpose: presentation, index: 0}, reply: {tool_calls: [{name: remove, arguments: {file: done}}]}}
  - {when: {purpose: presentation}, reply: {text: "It is done."}}
` + agreement
	synctest.Test(t, func(t *testing.T) {
		removed := make(chan string, 10)
		p, _ := panelOf(t, 3, script, nil, func(o *Options) {
			o.Rules = kernel.Defaults()
			o.Rules.Final = kernel.WinnerPresent
			for i := range o.Agents {
				o.Agents[i].Tools = []agents.Tool{remover{removed}}
				o.Agents[i].Plan = describe
			}
		})
		r := wait(t, start(t, p, "energy"))
		close(removed)
		var done []string
		for arguments := range removed {
			done = append(done, arguments)
		}
		if !slices.Equal(done, []string{`{"file":"done"}`}) || r.Answer != "It is done." {
			t.Errorf("%q was done for %q", done, r.Answer)
		}
		for _, c := range r.ToolCalls {
			planned := strings.HasPrefix(c.Result, "would be called")
			if planned != (c.Arguments == `{"file":"plan"}`) || planned != (c.State == effect.ToolPlanned) || c.Error {
				t.Errorf("a call: %+v", c)
			}
		}
		if len(r.ToolCalls) != 4 {
			t.Errorf("%d calls", len(r.ToolCalls))
		}
	})
}

// TestAgentAloneDoesNotPlan: nobody would do what it plans.
func TestAgentAloneDoesNotPlan(t *testing.T) {
	script := `
rules:
  - {when: {index: 0}, reply: {tool_calls: [{name: remove, arguments: {file: done}}]}}
  - {when: {}, reply: {text: "It is done."}}
`
	synctest.Test(t, func(t *testing.T) {
		removed := make(chan string, 1)
		p, _ := panelOf(t, 1, script, nil, func(o *Options) {
			o.Agents[0].Tools = []agents.Tool{remover{removed}}
			o.Agents[0].Plan = describe
		})
		if r := wait(t, start(t, p, "energy")); len(removed) != 1 || r.Answer != "It is done." {
			t.Errorf("%d calls ran for %q", len(removed), r.Answer)
		}
	})
}
