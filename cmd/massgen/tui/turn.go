package tui

import (
	"strings"

	"github.com/massgen/massgen/coordinator/report"
	"github.com/massgen/massgen/internal/coordination/step"
	"github.com/massgen/massgen/internal/system/plain"
)

// laidText is the text of an agent in lines of a width. It implements pile.
type laidText struct {
	agent  *report.AgentState
	width  int
	redact func(string) string
}

func (t laidText) count() int { return len(t.agent.Text) }

func (t laidText) lines(i int) []string {
	p := &t.agent.Text[i]
	isLast := i == len(t.agent.Text)-1
	goesOn := !isLast && t.agent.Text[i+1].Kind == p.Kind && t.agent.Text[i+1].Void == p.Void && p.Tool == nil
	text := strings.TrimSuffix(p.Text, "\n")
	paint := func(text string) string { return text }
	switch p.Kind {
	case step.PieceStep:
		text, paint = "── "+text, faint
	case step.PieceThought:
		paint = faint
	case step.PieceTool:
		text, paint = toolText(p.Tool), asAlert
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

// toolText is a tool call on one line.
func toolText(t *report.ToolRun) string {
	call := "▸ " + plain.Line(t.Name+" "+t.Arguments)
	switch {
	case t.Error:
		call += " failed"
	case !t.IsOver && t.Progress != "":
		call += " · " + t.Progress
	}
	return call
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
