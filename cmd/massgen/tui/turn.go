package tui

import (
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"

	"github.com/massgen/massgen/coordinator/report"
	"github.com/massgen/massgen/internal/coordination/step"
	"github.com/massgen/massgen/internal/system/plain"
)

// drawing has what the drawing of agents depends on beside their state. isOpen reports whether tool calls are
// shown with their arguments and results.
type drawing struct {
	now    time.Time
	redact func(string) string
	isOpen bool
}

// laidText is the text of an agent in lines of a width. It implements pile.
type laidText struct {
	agent *report.AgentState
	width int
	drawing
}

func (t laidText) count() int { return len(t.agent.Text) }

func (t laidText) lines(i int) []string {
	p := &t.agent.Text[i]
	isLast := i == len(t.agent.Text)-1
	goesOn := !isLast && t.agent.Text[i+1].Kind == p.Kind && t.agent.Text[i+1].Call == p.Call && t.agent.Text[i+1].Void == p.Void && p.Tool == nil
	text := strings.TrimSuffix(p.Text, "\n")
	paint := func(text string) string { return text }
	switch p.Kind {
	case step.PieceStep:
		text, paint = "── "+text, faint
	case step.PieceThought:
		paint = faint
	case step.PieceTool:
		return t.tool(p.Tool, !isLast && (t.isOpen || t.agent.Text[i+1].Tool == nil))
	}
	if p.Void != "" {
		paint = faint
	}
	lines := wrapped(t.redact(printable(text)), t.width)
	for j, line := range lines {
		lines[j] = paint(line)
	}
	if p.Void != "" && !goesOn {
		lines = append(lines, framed(asBad, "✗ ", "void: "+plain.Line(p.Void), t.width)...)
	}
	if !isLast && !goesOn && p.Kind != step.PieceThought && p.Kind != step.PieceStep {
		lines = append(lines, "")
	}
	return lines
}

// tool draws a tool call on one line, or with all of its arguments and its result. isApart adds an empty line.
func (t laidText) tool(run *report.ToolRun, isApart bool) (lines []string) {
	call, end := plain.Line(t.redact(run.Name+" "+run.Arguments)), ""
	switch {
	case run.Error:
		end = " failed"
	case run.IsOver && run.Took > 0:
		end = " · " + plain.Seconds(run.Took)
	case !run.IsOver && run.Progress != "":
		end = " · " + plain.Line(t.redact(run.Progress))
	}
	if t.isOpen {
		lines = append(hangingAs(asAlert, "▾ ", call+end, t.width), framed(faint, "  │ ", t.redact(printable(strings.TrimRight(run.Result, "\n"))), t.width)...)
	} else {
		end = ansi.Truncate(end, t.width/2, "…")
		lines = []string{asAlert(ansi.Truncate("▸ "+call, max(t.width-ansi.StringWidth(end), 1), "…") + end)}
	}
	if isApart {
		lines = append(lines, "")
	}
	return lines
}

// hangingAs is hanging with painted lines.
func hangingAs(paint func(string) string, head, text string, width int) []string {
	lines := hanging(head, text, width)
	for i, line := range lines {
		lines[i] = paint(line)
	}
	return lines
}

// last draws the last lines of an agent's text.
func (t laidText) last(height int) []string {
	var end position
	return end.view(t, height)
}

// doing returns the phase of an agent in words, with the reason of a failure.
func doing(a *report.AgentState) string {
	words := a.Doing
	if a.Phase == step.PhaseFailed || a.Phase == step.PhaseAbstained {
		words += " " + a.Detail
	}
	return plain.Line(words)
}

// printable returns a text of several lines without control characters.
func printable(text string) string {
	lines := strings.Split(strings.ReplaceAll(text, "\t", "    "), "\n")
	for i, line := range lines {
		lines[i] = plain.Line(line)
	}
	return strings.Join(lines, "\n")
}
