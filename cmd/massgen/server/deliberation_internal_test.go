package server

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"

	"github.com/massgen/massgen"
	"github.com/massgen/massgen/coordinator/report"
	"github.com/massgen/massgen/internal/coordination/effect"
)

// TestDeliberation shows the pieces of events. Each file is a turn. The command "panel" begins it, with "alone" for a
// panel of one. The command "events" has a line for each event, AGENT WHAT TEXT, and prints the event's piece; "\n" in a
// text ends a line. "finish" has the whole answer, and prints the last piece.
func TestDeliberation(t *testing.T) {
	t.Parallel()
	datadriven.Walk(t, "testdata/deliberation", func(t *testing.T, path string) {
		var d *deliberation
		calls := map[string]int{}
		datadriven.RunTest(t, path, func(t *testing.T, cmd *datadriven.TestData) string {
			var out strings.Builder
			show := func(p piece) {
				if p.reasoning != "" {
					fmt.Fprintf(&out, "reasoning %q\n", p.reasoning)
				}
				if p.content != "" {
					fmt.Fprintf(&out, "content %q\n", p.content)
				}
			}
			switch cmd.Cmd {
			case "panel":
				redact := func(text string) string { return strings.ReplaceAll(text, "sesame", "***") }
				d = &deliberation{isAlone: cmd.HasArg("alone"), redact: redact}
			case "events":
				for line := range strings.Lines(cmd.Input) {
					show(d.apply(scripted(t, calls, strings.TrimSuffix(line, "\n"))))
				}
			case "finish":
				show(d.finish(written(cmd.Input)))
			}
			return out.String()
		})
	})
}

func written(text string) string { return strings.ReplaceAll(text, `\n`, "\n") }

// scripted returns the event of a line. Calls counts the model calls of each agent.
func scripted(t *testing.T, calls map[string]int, line string) massgen.Event {
	agent, rest, _ := strings.Cut(line, " ")
	what, text, _ := strings.Cut(rest, " ")
	text = written(text)
	by := report.Actor{Agent: agent}
	end := report.StepEnd{Actor: by}
	if what == "call" {
		calls[agent]++
	}
	call := fmt.Sprint(agent, ".1.", calls[agent])
	label, reason, _ := strings.Cut(text, " ")
	switch what {
	case "step":
		return report.StepStarted{Actor: by, Purpose: effect.Purpose(label), HasSchema: reason == "schema"}
	case "call":
		return report.CallStarted{Actor: by, Call: call}
	case "answers":
		return report.TextDelta{Actor: by, Call: call, Act: effect.NewAnswer, Text: text}
	case "reasons":
		return report.TextDelta{Actor: by, Call: call, Act: effect.Vote, Text: text}
	case "says":
		return report.TextDelta{Actor: by, Call: call, Text: text}
	case "summarizes":
		return report.TextDelta{Actor: by, Call: "summary", Text: text}
	case "thinks":
		return report.Thinking{Actor: by, Call: call, Text: text}
	case "called":
		return report.CallEnded{Actor: by, Call: call, Why: text}
	case "retries":
		return report.Retrying{Actor: by, Why: text}
	case "falls-back":
		return report.FellBack{Actor: by, Why: "gone", To: text}
	case "calls":
		return report.ToolCalled{Actor: by, Call: call, Tool: text}
	case "used":
		return report.ToolEnded{Actor: by, Call: call, Tool: report.ToolCall{Name: text}}
	case "answered":
		return report.Answered{StepEnd: end, Content: text}
	case "late":
		return report.Answered{StepEnd: end, Content: text, Void: "a newer answer came"}
	case "voted":
		return report.Voted{StepEnd: end, Label: label, Reason: reason}
	case "void-vote":
		return report.Voted{StepEnd: end, Label: label, Reason: reason, Void: "a newer answer came"}
	case "abstained":
		return report.Abstained{StepEnd: end, Reason: text}
	case "failed":
		return report.Failed{StepEnd: end, Reason: text}
	case "cancelled":
		return report.Cancelled{StepEnd: end}
	case "dismissed":
		return report.Dismissed{Actor: by}
	case "presented":
		return report.Presented{StepEnd: end}
	case "note":
		return report.Noted{Text: text}
	case "end":
		return report.Ended{}
	}
	t.Fatalf("the script has the line %q", line)
	return nil
}
