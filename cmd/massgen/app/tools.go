package app

import (
	"fmt"
	"strings"

	"github.com/massgen/massgen/coordinator"
)

// toolLine tells of a tool that was run: with what, and what went wrong, if it did.
func toolLine(ev coordinator.Event) string {
	line := fmt.Sprintf("%s ran %s %s", ev.Agent, oneLine(ev.Tool.Name), shortened(oneLine(ev.Tool.Arguments), 60))
	if ev.Tool.Error {
		line += ", which failed: " + shortened(oneLine(strings.TrimPrefix(ev.Tool.Result, "Error: ")), 100)
	}
	return line + " · " + duration(ev.Elapsed)
}

// logTools logs the tool loop in the words of seed 004, and says whether it did.
func (s *session) logTools(ev coordinator.Event) bool {
	log := s.log.With("agent", ev.Agent, "round", ev.Round)
	switch ev.Kind {
	case coordinator.CallStarted:
		log.Debug(fmt.Sprintf("Conversation turn %d", ev.Call.Number))
		log.Debug("Tools being sent", "tools", ev.Call.Tools)
	case coordinator.ToolStarted:
		log.Debug("Executing: "+ev.Tool.Name, "arguments", ev.Tool.Arguments)
	case coordinator.ToolEnded:
		log.Debug(ev.Tool.Name+" completed", "error", ev.Tool.Error, "elapsed", ev.Elapsed)
		log.Debug("Added tool result to conversation", "result", ev.Tool.Result)
	default:
		if ev.ToolCalls > 0 {
			log.Info("Tool execution completed", "toolCallCount", ev.ToolCalls, "turns", ev.Usage.Calls)
		}
		return false
	}
	return true
}
