package tui

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"

	"github.com/massgen/massgen/internal/system/plain"
)

// paneWidth is the least width of an agent's column. If the columns do not fit, the agents are tabs.
const paneWidth = 26

// panes draws the agents of a turn in height lines: as columns if they fit, else the chosen agent below
// a line of tabs.
func (s *turnState) panes(width, height, chosenAgent int, hasFocus bool, now time.Time, redact func(string) string) []string {
	n := len(s.agents)
	if n == 0 || height < 1 {
		return blank(height)
	}
	chosenAgent = min(max(chosenAgent, 0), n-1)
	if n == 1 || width/n < paneWidth {
		return s.tabbed(width, height, chosenAgent, hasFocus, now, redact)
	}
	column := (width - (n - 1)) / n
	columns := make([][]string, n)
	for i := range s.agents {
		columns[i] = s.agents[i].pane(column, height, hasFocus && i == chosenAgent, now, redact)
	}
	lines := make([]string, height)
	for row := range lines {
		cells := make([]string, n)
		for i := range columns {
			cells[i] = padded(columns[i][row], column)
		}
		lines[row] = strings.Join(cells, faint("│"))
	}
	return lines
}

// tabbed draws a line of tabs and the chosen agent's text.
func (s *turnState) tabbed(width, height, at int, hasFocus bool, now time.Time, redact func(string) string) []string {
	if len(s.agents) == 1 {
		return s.agents[0].pane(width, height, hasFocus, now, redact)
	}
	var tabs []string
	for i, a := range s.agents {
		tab := " " + plain.Line(a.id) + " " + a.phase.mark() + " "
		if i == at {
			tab = chosen(tab)
		}
		tabs = append(tabs, tab)
	}
	line := strings.Join(tabs, "")
	if ansi.StringWidth(line) > width { // show the chosen tab in any case
		from := 0
		for ; from < at && ansi.StringWidth(strings.Join(tabs[from:at+1], "")) > width-2; from++ {
		}
		line = strings.Join(tabs[from:], "")
	}
	lines := []string{ansi.Truncate(line, width, "…")}
	return append(lines, s.agents[at].pane(width, height-1, hasFocus, now, redact)...)[:height]
}

// pane draws one agent: a title, and the end of its text.
func (a *agentState) pane(width, height int, hasFocus bool, now time.Time, redact func(string) string) []string {
	if height < 1 {
		return nil
	}
	title := ansi.Truncate(a.title(now, width), width, "…")
	if hasFocus {
		title = chosen(padded(title, width))
	} else {
		title = a.phase.paint(title)
	}
	lines := append([]string{title}, a.text.last(width, height-1, redact)...)
	return append(lines, blank(height-len(lines))...)
}

// title returns the agent, its phase and the time in it, and in a wide column the tokens that it has
// written.
func (a *agentState) title(now time.Time, width int) string {
	words := a.id + " " + a.phase.mark() + " " + string(a.phase)
	if a.detail != "" {
		words += " " + a.detail
	}
	if a.phase.isBusy() {
		words += " " + seconds(now.Sub(a.since))
	} else if a.took > 0 {
		words += " " + seconds(a.took)
	}
	words = plain.Line(words)
	if tokens := " · " + short(a.usage.out) + " tokens"; a.usage.out > 0 && ansi.StringWidth(words+tokens) <= width {
		words += tokens
	}
	return words
}

// mark returns a sign for a phase, for terminals without colour.
func (p phase) mark() string {
	switch p {
	case thinking, writing:
		return "●"
	case usingTool:
		return "▸"
	case answered:
		return "✓"
	case voted:
		return "→"
	case failed, cancelled, dismissed:
		return "✗"
	case abstained:
		return "–"
	}
	return "○"
}

func (p phase) paint(text string) string {
	switch p {
	case answered, voted:
		return asGood(text)
	case failed, cancelled, dismissed:
		return asBad(text)
	case waiting, abstained:
		return faint(text)
	}
	return bold(text)
}

// last draws the last lines of a text.
func (t *tail) last(width, height int, redact func(string) string) []string {
	var end position
	return end.view(laidTail{t, width, redact}, height)
}

// laidTail is a tail in lines of a width. It implements pile.
type laidTail struct {
	*tail
	width  int
	redact func(string) string
}

func (t laidTail) count() int { return len(t.list) }

func (t laidTail) lines(i int) []string {
	piece := t.list[i]
	lines := wrapped(t.redact(piece.text), t.width)
	for j, line := range lines {
		lines[j] = piece.kind.paint(line)
	}
	return lines
}

func (k lineKind) paint(text string) string {
	switch k {
	case thought, heading:
		return faint(text)
	case tooled:
		return asAlert(text)
	case given:
		return text
	}
	return text
}

// strip draws the answers and votes of each round.
func (s *turnState) strip(width, height int) []string {
	var lines []string
	for i, marks := range s.rounds {
		if len(marks) == 0 {
			continue
		}
		words := []string{faint(fmt.Sprintf("round %d", i+1))}
		marks = slices.Clone(marks) // in the panel's order
		slices.SortStableFunc(marks, func(a, b mark) int { return s.place(a.agent) - s.place(b.agent) })
		for _, m := range marks {
			text := m.agent + " ✓ " + m.label
			if m.votedFor != "" {
				text = m.agent + " → " + m.votedFor
			}
			if text = plain.Line(text); m.void {
				text = faint(text + " (void)")
			}
			words = append(words, text)
		}
		lines = append(lines, ansi.Truncate(strings.Join(words, "  "), width, "…"))
	}
	if over := len(lines) - height; over > 0 {
		lines = lines[over:]
	}
	return lines
}

func (s *turnState) place(id string) int {
	return slices.IndexFunc(s.agents, func(a agentState) bool { return a.id == id })
}

// padded fills a line with blanks up to a width.
func padded(line string, width int) string {
	return line + strings.Repeat(" ", max(width-ansi.StringWidth(line), 0))
}

func blank(n int) []string { return make([]string, max(n, 0)) }

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

func thousands(n int) string {
	if n >= 10_000 {
		return fmt.Sprintf("%.1fk", float64(n)/1000)
	}
	return strconv.Itoa(n)
}
