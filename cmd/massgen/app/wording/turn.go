package wording

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/massgen/massgen/coordinator"
	"github.com/massgen/massgen/coordinator/report"
	"github.com/massgen/massgen/internal/coordination/machine"
	"github.com/massgen/massgen/internal/system/plain"
)

// NoteLines returns the notes of a turn.
func NoteLines(notes []report.ResultNote) string {
	var b strings.Builder
	for _, n := range notes {
		fmt.Fprintf(&b, "\nnote, seen by %s:\n", plain.Count(n.SeenBy, "agent"))
		b.WriteString(inMargin(n.Text))
	}
	return b.String()
}

// PartialTexts returns each partial message below a line that names its agent.
func PartialTexts(partials []report.PartialText) string {
	var b strings.Builder
	for _, p := range partials {
		fmt.Fprintf(&b, "\npartial message of %s, round %d, which is no answer (%s):\n", plain.Line(p.Agent), p.Round, plain.Line(p.Reason))
		b.WriteString(inMargin(p.Content))
	}
	return b.String()
}

// inMargin returns a text with a bar before each line.
func inMargin(text string) string {
	lines := strings.TrimSuffix(Printable(text), "\n")
	return "  | " + strings.ReplaceAll(lines, "\n", "\n  | ") + "\n"
}

// UnfinishedCalls names the calls that have no result.
func UnfinishedCalls(list []coordinator.UnfinishedCall) string {
	var names []string
	for _, c := range list {
		switch {
		case c.Agent == "":
			names = append(names, string(c.Purpose))
		case c.Asked:
			names = append(names, fmt.Sprintf("%s, round %d, whether %s may run", c.Agent, c.Round, c.Tool))
		case c.Tool != "":
			names = append(names, fmt.Sprintf("%s, round %d, tool %s", c.Agent, c.Round, c.Tool))
		default:
			names = append(names, fmt.Sprintf("%s, round %d, call %d", c.Agent, c.Round, c.Number))
		}
	}
	if len(names) == 0 {
		return "nothing was under way"
	}
	return strings.Join(names, "; ")
}

// ToolLine returns a line about a tool call: its arguments, its outcome and its error.
func ToolLine(agent string, c report.ToolCall, took time.Duration) string {
	call := plain.Line(c.Name) + " " + Shortened(plain.Line(c.Arguments), 60)
	reason := Shortened(plain.Line(reasonOf(c.Result)), 100)
	switch c.State {
	case machine.ToolPlanned:
		return fmt.Sprintf("%s planned %s", agent, call)
	case machine.ToolDenied:
		return fmt.Sprintf("%s was denied %s: %s", agent, call, reason)
	case machine.ToolRefused:
		return fmt.Sprintf("%s called %s, which was not run: %s", agent, call, reason)
	case machine.ToolCancelled:
		return fmt.Sprintf("%s's %s was cancelled · %s", agent, call, Duration(took))
	case machine.ToolInterrupted:
		return fmt.Sprintf("%s's %s was interrupted, and nobody knows what became of it", agent, call)
	case report.ToolRunning:
		return fmt.Sprintf("%s's %s did not end", agent, call)
	}
	if c.Error {
		call += ", which failed: " + reason
	}
	return fmt.Sprintf("%s ran %s · %s", agent, call, Duration(took))
}

// reasonOf returns why a tool failed: the member error of a result that is a JSON object, else the
// whole result.
func reasonOf(result string) string {
	var object struct{ Error string }
	if err := json.Unmarshal([]byte(result), &object); err == nil && object.Error != "" {
		return object.Error
	}
	return strings.TrimPrefix(result, "Error: ")
}
