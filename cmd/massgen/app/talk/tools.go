package talk

import (
	"fmt"
	"log/slog"
	"strings"

	"github.com/massgen/massgen/cmd/massgen/app/wording"
	"github.com/massgen/massgen/coordinator/report"
	"github.com/massgen/massgen/internal/coordination/machine"
	"github.com/massgen/massgen/internal/setup/toolbox"
	"github.com/massgen/massgen/internal/system/plain"
)

// newToolsLine returns a line about an agent whose tools have changed.
func newToolsLine(ev report.ToolsChanged) string {
	line := ev.Agent + " has other tools from now on"
	if changed := toolbox.ChangeText(ev.Tools); changed != "" {
		line += "; " + changed
	}
	return line
}

// toolProgress returns a line about the progress of a tool.
func toolProgress(ev report.ToolProgress) string {
	line := fmt.Sprintf("%s runs %s", ev.Agent, plain.Line(ev.Tool))
	if ev.Text != "" {
		line += ": " + wording.Shortened(plain.Line(ev.Text), 100)
	}
	if ev.Fraction >= 0.01 {
		line += fmt.Sprintf(" · %.0f %%", 100*ev.Fraction)
	}
	return line
}

// outcomeOf returns the state of a tool call, in the word of seed 004 for a call that ran.
func outcomeOf(state machine.ToolState) string {
	if state == machine.ToolRan {
		return "completed"
	}
	return string(state)
}

// hasSystemMessage reports whether a call is sent a system message. An agent alone is sent its own,
// or the one for agents with tools.
func (f *feed) hasSystemMessage(call report.CallStarted) bool {
	own := f.asked.config.Agents[0].SystemMessage
	return len(f.asked.config.Agents) > 1 || strings.TrimSpace(own) != "" || own == "" && len(call.Tools) > 0
}

// logTools logs the events of the tool loop in the words of seed 004. It reports whether ev was one.
func (f *feed) logTools(ev report.Event, log *slog.Logger) bool {
	switch ev := ev.(type) {
	case report.CallStarted:
		log.Debug(fmt.Sprintf("Conversation turn %d", ev.Number))
		if f.hasSystemMessage(ev) {
			log.Debug("System prompt being sent")
		}
		log.Debug("Tools being sent", "tools", ev.Tools)
	case report.CallEnded:
		log.Debug("Model call ended", "model", ev.Model, "input_tokens", ev.Usage.InputTokens, "output_tokens", ev.Usage.OutputTokens, "error", ev.Why, "replayed", ev.Replayed)
	case report.ToolsChanged:
		log.Debug("Tools changed", "added", ev.Tools.Added, "removed", ev.Tools.Removed, "described_anew", ev.Tools.Described, "replayed", ev.Replayed)
	case report.ToolStarted:
		log.Debug("Executing: "+ev.Tool.Name, "arguments", ev.Tool.Arguments)
	case report.ToolProgress:
		log.Debug("progress of a tool", "tool", ev.Tool, "text", f.console.Secrets.Redact(ev.Text), "fraction", ev.Fraction)
	case report.ToolEnded:
		log.Debug(ev.Tool.Name+" "+outcomeOf(ev.Tool.State), "error", ev.Tool.Error, "elapsed", ev.Elapsed)
		log.Debug("Added tool result to conversation", "result", ev.Tool.Result)
	case stepEnd:
		if end := ev.End(); end.ToolCalls > 0 {
			// Each call has one result, also one that failed.
			log.Info("Streaming tool execution completed", "toolCallCount", end.ToolCalls, "resultsCount", end.ToolCalls, "turns", end.Usage.Calls)
		}
		return false
	default:
		return false
	}
	return true
}
