package tui

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"

	"github.com/massgen/massgen/coordinator/report"
	"github.com/massgen/massgen/internal/coordination/step"
	"github.com/massgen/massgen/internal/system/plain"
)

// paneWidth is the least width of an agent's column. If the columns do not fit, the agents are tabs.
const paneWidth = 26

// panes draws the agents of a turn in height lines: as columns if they fit, else the chosen agent below
// a line of tabs.
func panes(s *report.State, width, height, chosenAgent int, hasFocus bool, d drawing) []string {
	n := len(s.Agents)
	if n == 0 || height < 1 {
		return blank(height)
	}
	chosenAgent = min(max(chosenAgent, 0), n-1)
	if n == 1 || width/n < paneWidth {
		return tabbed(s, width, height, chosenAgent, hasFocus, d)
	}
	column := (width - (n - 1)) / n
	columns := make([][]string, n)
	for i := range s.Agents {
		columns[i] = pane(&s.Agents[i], column, height, hasFocus && i == chosenAgent, d)
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
func tabbed(s *report.State, width, height, at int, hasFocus bool, d drawing) []string {
	if s.IsAlone() {
		return pane(&s.Agents[0], width, height, hasFocus, d)
	}
	var tabs []string
	for i, a := range s.Agents {
		tab := " " + plain.Line(a.ID) + " " + markOf(a.Phase) + " "
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
	return append(lines, pane(&s.Agents[at], width, height-1, hasFocus, d)...)[:height]
}

// pane draws one agent: a title, and the end of its text.
func pane(a *report.AgentState, width, height int, hasFocus bool, d drawing) []string {
	if height < 1 {
		return nil
	}
	title := ansi.Truncate(titleOfAgent(a, d.now, width), width, "…")
	if hasFocus {
		title = chosen(padded(title, width))
	} else {
		title = paintAs(a.Phase, title)
	}
	lines := append([]string{title}, laidText{a, width, d}.last(height-1)...)
	return append(lines, blank(height-len(lines))...)
}

// titleOfAgent returns the agent, its phase and the time of its step, and what its calls took as far as the column
// has room.
func titleOfAgent(a *report.AgentState, now time.Time, width int) string {
	words := plain.Line(a.ID) + " " + markOf(a.Phase) + " " + doing(a)
	if a.Phase.IsBusy() {
		words += " " + seconds(max(now.Sub(a.Began), 0))
	} else if a.Took > 0 {
		words += " " + seconds(a.Took)
	}
	if a.Usage.OutputTokens == 0 {
		return words
	}
	for _, took := range []string{a.Usage.Words(), short(a.Usage.OutputTokens) + " tokens"} {
		if longer := words + " · " + took; ansi.StringWidth(longer) <= width {
			return longer
		}
	}
	return words
}

// markOf returns a sign for a phase, for terminals without colour.
func markOf(p step.Phase) string {
	switch p {
	case step.PhaseThinking, step.PhaseWriting:
		return "●"
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

func paintAs(p step.Phase, text string) string {
	switch p {
	case step.PhaseAnswered, step.PhaseVoted:
		return asGood(text)
	case step.PhaseFailed, step.PhaseCancelled, step.PhaseDismissed, step.PhaseLate:
		return asBad(text)
	case step.PhaseIdle, step.PhaseWaiting, step.PhaseAbstained:
		return faint(text)
	}
	return bold(text)
}

// strip draws the answers and votes of each round.
func strip(s *report.State, width, height int) []string {
	byRound := map[int][]report.Act{}
	last := 0
	for _, act := range s.Acts {
		if act.Label != "" && !act.Final {
			byRound[act.Round] = append(byRound[act.Round], act)
			last = max(last, act.Round)
		}
	}
	var lines []string
	for round := 1; round <= last; round++ {
		acts := byRound[round]
		if len(acts) == 0 {
			continue
		}
		words := []string{faint(fmt.Sprintf("round %d", round))}
		slices.SortStableFunc(acts, func(a, b report.Act) int { return place(s, a.Agent) - place(s, b.Agent) })
		for _, act := range acts {
			sign := " ✓ "
			if act.Phase == step.PhaseVoted {
				sign = " → "
			}
			text := plain.Line(act.Agent + sign + act.Label)
			if act.Void != "" {
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

// place returns the place of an agent in the panel.
func place(s *report.State, id string) int {
	return slices.IndexFunc(s.Agents, func(a report.AgentState) bool { return a.ID == id })
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
