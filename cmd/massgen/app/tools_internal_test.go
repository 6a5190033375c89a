package app

import (
	"testing"
	"time"

	"github.com/massgen/massgen/agents/machine"
	"github.com/massgen/massgen/coordinator"
)

func TestToolLines(t *testing.T) {
	for _, c := range []struct {
		call coordinator.ToolCall
		want string
	}{
		{coordinator.ToolCall{State: machine.ToolRan, Result: "x"}, "a ran cut {} · 1.5 s"},
		{coordinator.ToolCall{State: machine.ToolRan, Error: true, Result: "Error: no disk"}, "a ran cut {}, which failed: no disk · 1.5 s"},
		{coordinator.ToolCall{State: machine.ToolRan, Error: true, Result: `{"success":false,"error":"no file"}`}, "a ran cut {}, which failed: no file · 1.5 s"},
		{coordinator.ToolCall{State: machine.ToolPlanned, Result: "x"}, "a planned cut {}"},
		{coordinator.ToolCall{State: machine.ToolRefused, Error: true, Result: "Error: there is no such tool on offer"}, "a called cut {}, which was not run: there is no such tool on offer"},
		{coordinator.ToolCall{State: machine.ToolDenied, Error: true, Result: "Error: not\npermitted"}, "a was denied cut {}: not permitted"},
		{coordinator.ToolCall{State: machine.ToolCancelled, Error: true, Result: "Error: x"}, "a's cut {} was cancelled · 1.5 s"},
		{coordinator.ToolCall{State: coordinator.ToolRunning}, "a's cut {} did not end"},
	} {
		c.call.Name, c.call.Arguments = "cut", "{}"
		if got := toolLine("a", c.call, 1500*time.Millisecond); got != c.want {
			t.Errorf("%+v: %s, want %s", c.call, got, c.want)
		}
	}
}
