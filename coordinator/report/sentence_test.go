package report_test

import (
	"testing"
	"time"

	"github.com/massgen/massgen/coordinator/report"
	"github.com/massgen/massgen/internal/coordination/effect"
)

func TestToolSentences(t *testing.T) {
	for _, c := range []struct {
		call report.ToolCall
		want string
	}{
		{report.ToolCall{State: effect.ToolRan, Result: "x"}, "a ran cut {} · 1.5 s"},
		{report.ToolCall{State: effect.ToolRan, Error: true, Result: "Error: no disk"}, "a ran cut {}, which failed: no disk · 1.5 s"},
		{report.ToolCall{State: effect.ToolRan, Error: true, Result: `{"success":false,"error":"no file"}`}, "a ran cut {}, which failed: no file · 1.5 s"},
		{report.ToolCall{State: effect.ToolPlanned, Result: "x"}, "a planned cut {}"},
		{report.ToolCall{State: effect.ToolRefused, Error: true, Result: "Error: there is no such tool on offer"}, "a called cut {}, which was not run: there is no such tool on offer"},
		{report.ToolCall{State: effect.ToolDenied, Error: true, Result: "Error: not\npermitted"}, "a was denied cut {}: not permitted"},
		{report.ToolCall{State: effect.ToolCancelled, Error: true, Result: "Error: x"}, "a's cut {} was cancelled · 1.5 s"},
		{report.ToolCall{State: report.ToolRunning}, "a's cut {} did not end"},
	} {
		c.call.Name, c.call.Arguments = "cut", "{}"
		if got := report.NewState("a", "b").Sentence(report.ToolEnded{Actor: report.Actor{Agent: "a"}, Tool: c.call, Elapsed: 1500 * time.Millisecond}).Text; got != c.want {
			t.Errorf("%+v: %s, want %s", c.call, got, c.want)
		}
	}
}
