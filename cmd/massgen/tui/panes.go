package tui

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"

	"github.com/massgen/massgen/cmd/massgen/internal/signs"
	"github.com/massgen/massgen/coordinator/report"
	"github.com/massgen/massgen/internal/coordination/step"
	"github.com/massgen/massgen/internal/system/plain"
)

// The least size of an agent's box among others. If the boxes do not fit, the agents are lines.
const (
	paneWidth  = 26
	paneHeight = 5
)

// panes draws the agents of a turn, and keeps their texts laid out.
type panes struct {
	turn  *report.State
	texts []*laidText // of the agents in their order
	drawing
	focus int // the agent that gets the keys, -1 without one
}

// draw draws a turn in height lines: the agents in boxes, or as lines above the box of one of them.
func (p *panes) draw(s *report.State, width, height, focus int, d drawing) []string {
	if p.turn != s {
		p.turn, p.texts = s, nil
	}
	for len(p.texts) < len(s.Agents) {
		p.texts = append(p.texts, &laidText{})
	}
	p.drawing, p.focus = d, min(focus, len(s.Agents)-1)
	if len(s.Agents) == 0 || height < 1 || width < 1 {
		return blank(height)
	}
	rows, columns := grid(len(s.Agents), width, height)
	if rows == 0 {
		return p.list(width, height)
	}
	var lines []string
	for row := range rows {
		first, end := row*columns, min((row+1)*columns, len(s.Agents))
		high := share(height, rows, row)
		var boxes [][]string
		for i := first; i < end; i++ {
			boxes = append(boxes, p.pane(i, share(width, end-first, i-first), high))
		}
		lines = append(lines, beside(boxes)...)
	}
	return lines
}

// share returns the part i of a length that is divided into n parts, which differ by one at most.
func share(length, n, i int) int { return length*(i+1)/n - length*i/n }

// grid divides the screen among n boxes, so that they have the most room for text. rows is 0 if they do not fit.
func grid(n, width, height int) (rows, columns int) {
	best := 0
	for r := 1; r <= n; r++ {
		c := (n + r - 1) / r
		if c*(r-1) >= n { // an empty row
			continue
		}
		w, h := width/c, height/r
		isAlone := n == 1 && w >= leastBox && h > 2
		if !isAlone && (w < paneWidth || h < paneHeight) {
			continue
		}
		if size := inBox(w) * (h - 2); size > best {
			best, rows, columns = size, r, c
		}
	}
	return rows, columns
}

// list draws each agent on a line, in columns if there is room, and the box of one of them below.
func (p *panes) list(width, height int) []string {
	const wideColumn = 36
	n := len(p.turn.Agents)
	columns := min(max(width/wideColumn, 1), n)
	rows := (n + columns - 1) / columns
	if narrow := width / paneWidth; rows+paneHeight > height && narrow > columns {
		columns = min(narrow, n)
		rows = (n + columns - 1) / columns
	}
	boxHeight := height - rows
	if boxHeight < paneHeight {
		if boxHeight = 0; height > paneHeight+2 {
			boxHeight = paneHeight
		}
		rows = min(rows, height-boxHeight)
	}
	at := p.shown()
	first := max(min(at/columns-rows/2, (n+columns-1)/columns-rows), 0) * columns
	var lines []string
	for row := range rows {
		var cells [][]string
		for c := range columns {
			i, wide := first+row*columns+c, share(width, columns, c)
			line := ""
			if i < n {
				line = p.line(i, wide-1)
			}
			cells = append(cells, []string{padded(line, wide)})
		}
		lines = append(lines, beside(cells)...)
	}
	if boxHeight > 0 {
		lines = append(lines, p.pane(at, width, boxHeight)...)
	}
	return append(lines, blank(height-len(lines))...)
}

// shown returns the agent whose box is shown below the lines: the chosen one, else the first that writes.
func (p *panes) shown() int {
	if p.focus >= 0 {
		return p.focus
	}
	best := 0
	for i := range p.turn.Agents {
		a := &p.turn.Agents[i]
		if a.Phase == step.PhaseWriting || a.Phase == step.PhaseThinking {
			return i
		}
		if len(a.Text) > 0 && len(p.turn.Agents[best].Text) == 0 {
			best = i
		}
	}
	return best
}

// line draws an agent on one line.
func (p *panes) line(i, width int) string {
	a := &p.turn.Agents[i]
	if width < 1 {
		return ""
	}
	head := ansi.Truncate(" "+signs.Of(i)+" "+plain.Line(a.ID), width, "…")
	rest := " " + stateOf(a, p.now, max(width-ansi.StringWidth(head)-1, 0))
	if i == p.focus {
		return chosen(padded(head+rest, width))
	}
	return strongAgent(i)(head) + paintAs(a.Phase)(rest)
}

// pane draws an agent in a box. A finished answer is shown from its beginning, any other text from its end.
func (p *panes) pane(i, width, height int) []string {
	a := &p.turn.Agents[i]
	if height < 3 || width < leastBox {
		return append([]string{p.line(i, width)}, blank(height-1)...)[:height]
	}
	below := p.remarks(a, inBox(width))
	below = below[:min(len(below), max(height-3, 0))]
	room := height - 2 - len(below)
	text := p.texts[i]
	text.update(a, inBox(width), p.drawing)
	var at position
	if first := text.answer(); first >= 0 && a.Phase == step.PhaseAnswered {
		at.from(first)
	}
	lines := at.view(text, room)
	if len(below) > 0 {
		lines = append(append(lines, blank(room-len(lines))...), below...)
	}
	b, paint := lightBorder(), asAgent(i)
	if !a.Phase.IsBusy() {
		paint = faint
	}
	const roomOfTitle = 6 // of the border
	head, remark := signs.Of(i)+" "+plain.Line(a.ID), ""
	state := stateOf(a, p.now, max(width-roomOfTitle-ansi.StringWidth(head)-1, 0))
	if a.Usage.OutputTokens > 0 {
		remark = faint(short(a.Usage.OutputTokens) + " tokens")
	}
	title := strongAgent(i)(head) + " " + paintAs(a.Phase)(state)
	if i == p.focus {
		b, paint = heavyBorder(), strongAgent(i)
		title = chosen(" " + ansi.Truncate(head+" "+state, width-8, "…") + " ")
	}
	return box(title, remark, lines, width, height, b, paint)
}

// remarks returns what holds an agent up, in lines of a width: a failure, or a wait.
func (p *panes) remarks(a *report.AgentState, width int) []string {
	switch {
	case a.Phase == step.PhaseFailed || a.Phase == step.PhaseAbstained:
		return framed(asBad, "", p.redact(plain.Line(a.Detail)), width)
	case a.Marks.Retrying != "":
		again := "again"
		if left := a.Marks.RetryAt.Sub(p.now); left > 0 && !p.now.IsZero() {
			again += " in " + seconds(left)
		}
		return framed(asAlert, "", again+": "+p.redact(plain.Line(a.Marks.Retrying)), width)
	case a.Marks.HeldUp != "":
		return framed(asAlert, "", "waits: "+p.redact(plain.Line(a.Marks.HeldUp)), width)
	}
	return nil
}

// stateOf returns what an agent does, with a mark, and the time of its step, in the longest form that fits into a width.
func stateOf(a *report.AgentState, now time.Time, width int) string {
	took := a.Took
	if a.Phase.IsBusy() {
		took = max(now.Sub(a.Began), 0)
	}
	mark := markOf(a.Phase)
	words := strings.TrimSpace(mark + " " + doing(a))
	brief := words
	if mark != "" && a.Detail != "" && a.Phase != step.PhaseFailed && a.Phase != step.PhaseAbstained {
		brief = mark + " " + plain.Line(a.Detail)
	}
	forms := []string{words, brief, mark}
	if a.Phase.IsBusy() || took > 0 {
		forms = []string{words + " " + seconds(took), words, brief + " " + seconds(took), brief, mark}
	}
	for _, form := range forms {
		if ansi.StringWidth(form) <= width {
			return form
		}
	}
	return ansi.Truncate(brief, width, "…")
}

// markOf returns a mark for a phase, for terminals without colour. An agent that writes needs none.
func markOf(p step.Phase) string {
	switch p {
	case step.PhaseThinking, step.PhaseWriting, step.PhaseWaiting:
		return ""
	case step.PhaseCallingTool:
		return "▸"
	case step.PhaseAskingPerson:
		return "?"
	case step.PhaseAnswered:
		return "✓"
	case step.PhaseVoted:
		return "→"
	case step.PhaseFailed, step.PhaseCancelled, step.PhaseDismissed, step.PhaseLate:
		return "✗"
	case step.PhaseAbstained:
		return "–"
	}
	return "○"
}

func paintAs(p step.Phase) func(string) string {
	switch p {
	case step.PhaseAnswered, step.PhaseVoted:
		return asGood
	case step.PhaseFailed, step.PhaseCancelled, step.PhaseDismissed, step.PhaseLate:
		return asBad
	case step.PhaseCallingTool, step.PhaseAskingPerson:
		return asAlert
	case step.PhaseIdle, step.PhaseWaiting, step.PhaseAbstained:
		return faint
	}
	return bold
}

// padded fills a line with blanks up to a width.
func padded(line string, width int) string {
	return line + strings.Repeat(" ", max(width-ansi.StringWidth(line), 0))
}

func blank(n int) []string { return make([]string, max(n, 0)) }

func lineAt(lines []string, i int) string {
	if i < len(lines) {
		return lines[i]
	}
	return ""
}

func seconds(d time.Duration) string {
	if d >= time.Minute {
		return fmt.Sprintf("%dm %02ds", int(d.Minutes()), int(d.Seconds())%60)
	}
	return strconv.Itoa(int(d.Seconds())) + "s"
}

// short formats a number in a few letters.
func short(n int) string {
	switch {
	case n >= 1_000_000:
		return fmt.Sprintf("%.1fM", float64(n)/1_000_000)
	case n >= 1000:
		return fmt.Sprintf("%.1fk", float64(n)/1000)
	}
	return strconv.Itoa(n)
}
