package tui

import (
	"slices"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"

	"github.com/massgen/massgen/cmd/massgen/internal/markdown"
	"github.com/massgen/massgen/coordinator/report"
	"github.com/massgen/massgen/internal/coordination/step"
	"github.com/massgen/massgen/internal/system/plain"
)

// drawing has what the drawing of agents depends on beside their state. isOpen reports whether tool calls are
// shown with their arguments and results.
type drawing struct {
	now    time.Time
	redact func(string) string
	drawer *markdown.Drawer
	isOpen bool
}

// laidText is the text of an agent in lines of a width. It implements pile. It keeps what it has laid out, and update
// lays out what is new.
type laidText struct {
	drawing
	width  int
	pieces []report.Piece // that are laid out
	// dropped counts the pieces that are gone from the beginning.
	dropped  int
	sections []section
	items    []item
}

// section is a text of one kind of a model call, a tool call, or the heading of a step.
type section struct {
	report.Piece                // the first of its pieces
	text         *markdown.Text // nil for a tool call and a heading
	piece, item  int            // where it begins
}

// item is a block of a section.
type item struct{ section, block int }

// update lays out what is new in an agent's text, for a width.
func (t *laidText) update(a *report.AgentState, width int, d drawing) {
	t.width, t.drawing = width, d
	if a.Dropped != t.dropped {
		t.dropped = a.Dropped
		t.forget(0)
	}
	same := 0
	for same < min(len(t.pieces), len(a.Text)) && t.pieces[same] == a.Text[same] {
		same++
	}
	if last := len(t.pieces) - 1; same == last && same < len(a.Text) && isLonger(a.Text[same], t.pieces[same]) {
		t.sections[len(t.sections)-1].text.Write(a.Text[same].Text[len(t.pieces[same].Text):])
		t.pieces[same] = a.Text[same]
		same++
	} else if same <= last {
		k := len(t.sections) - 1
		for t.sections[k].piece > same {
			k--
		}
		same = t.sections[k].piece
		t.forget(k)
	}
	for _, p := range a.Text[same:] {
		t.add(p)
	}
	t.count()
}

// isLonger reports whether a piece is an earlier one that has grown.
func isLonger(p, before report.Piece) bool {
	rest, isGrown := strings.CutPrefix(p.Text, before.Text)
	return isGrown && rest != "" && belongs(p, before) && p.Kind != step.PieceStep
}

// belongs reports whether a piece goes on with the text of another one.
func belongs(p, other report.Piece) bool {
	return p.Kind == other.Kind && p.Call == other.Call && p.Void == other.Void && p.Tool == nil && other.Tool == nil
}

// forget drops the sections from one on.
func (t *laidText) forget(section int) {
	if section < len(t.sections) {
		t.pieces, t.items = t.pieces[:t.sections[section].piece], t.items[:t.sections[section].item]
		t.sections = t.sections[:section]
	}
}

// add lays out another piece.
func (t *laidText) add(p report.Piece) {
	t.pieces = append(t.pieces, p)
	if k := len(t.sections) - 1; k >= 0 && t.sections[k].text != nil && belongs(p, t.sections[k].Piece) {
		t.sections[k].text.Write(p.Text)
		return
	}
	t.count()
	s := section{Piece: p, piece: len(t.pieces) - 1, item: len(t.items)}
	if p.Kind != step.PieceStep && p.Kind != step.PieceTool {
		look, drawer := markdown.Look{Mask: t.redact}, t.drawer
		if p.Kind == step.PieceThought || p.Void != "" {
			look.Paint, drawer = faint, drawer.Plain()
		}
		s.text = drawer.NewText(look)
		s.text.Write(p.Text)
	}
	t.sections = append(t.sections, s)
}

// count implements pile. It adds the new blocks of the last section to the items.
func (t *laidText) count() int {
	if k := len(t.sections) - 1; k >= 0 {
		for n := len(t.items) - t.sections[k].item; n < t.sections[k].blocks(); n++ {
			t.items = append(t.items, item{k, n})
		}
	}
	return len(t.items)
}

func (s *section) blocks() int {
	if s.text == nil {
		return 1
	}
	return s.text.Len()
}

// answer returns the item with which the newest answer begins, -1 without one.
func (t *laidText) answer() int {
	for i := len(t.sections) - 1; i >= 0; i-- {
		if s := t.sections[i]; s.Kind == step.PieceAnswer && s.Void == "" {
			return s.item
		}
	}
	return -1
}

// lines implements pile.
func (t *laidText) lines(i int) []string {
	at := t.items[i]
	s := &t.sections[at.section]
	isLast := at.section == len(t.sections)-1
	switch s.Kind {
	case step.PieceStep:
		text := ansi.Truncate("── "+plain.Line(s.Text)+" ", t.width, "…")
		return []string{faint(text + strings.Repeat("─", max(t.width-ansi.StringWidth(text), 0)))}
	case step.PieceTool:
		return t.tool(s.Tool, !isLast && (t.isOpen || t.sections[at.section+1].Tool == nil))
	}
	lines := s.text.Lines(at.block, t.width)
	if at.block < s.text.Len()-1 {
		return lines
	}
	lines = slices.Clip(lines)
	if s.Void != "" {
		lines = append(lines, framed(asBad, "✗ ", "void: "+plain.Line(s.Void), t.width)...)
	}
	if !isLast && s.Kind != step.PieceThought {
		lines = append(lines, "")
	}
	return lines
}

// tool draws a tool call on one line, or with all of its arguments and its result. isApart adds an empty line.
func (t *laidText) tool(run *report.ToolRun, isApart bool) (lines []string) {
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

// doing returns the phase of an agent in words.
func doing(a *report.AgentState) string { return plain.Line(a.Doing) }

// printable returns a text of several lines without control characters.
func printable(text string) string {
	lines := strings.Split(strings.ReplaceAll(text, "\t", "    "), "\n")
	for i, line := range lines {
		lines[i] = plain.Line(line)
	}
	return strings.Join(lines, "\n")
}
