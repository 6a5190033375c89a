package tui

import (
	"fmt"
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/massgen/massgen/cmd/massgen/internal/markdown"
	"github.com/massgen/massgen/internal/system/plain"
)

// Rows of the screen beside the conversation, the agents and the entry.
const (
	hintRows  = 1
	mostStrip = 3
)

// drawing draws a screen.
type drawing struct{ *screen }

// layOut gives the parts their sizes.
func (s drawing) layOut() {
	if s.size.Width <= 0 {
		return
	}
	s.entry.area.SetWidth(s.size.Width)
	s.transcript.resize(s.size.Width, max(s.bodyRows()-s.paneRows()-len(s.strip()), 0))
	if d, ok := s.overlay.(*dialog); ok && d.isOver() {
		s.overlay = d.below
	}
}

// bodyRows is how many rows are between the header and the entry.
func (s drawing) bodyRows() int {
	return max(s.size.Height-len(s.header(time.Time{}))-hintRows-1-min(s.entry.area.Height(), entryLines), 1)
}

// paneRows is how many rows the agents take: two thirds of the body, while a turn runs or one of
// them is chosen.
func (s drawing) paneRows() int {
	if s.shown == nil || s.running == nil && s.focus < 0 {
		return 0
	}
	return max(s.bodyRows()*2/3, 1)
}

func (s drawing) strip() []string {
	if s.shown == nil || len(s.shown.agents) < 2 {
		return nil
	}
	return s.shown.strip(s.size.Width, min(mostStrip, s.bodyRows()/4))
}

// View implements tea.Model.
func (s *screen) View() tea.View { return drawing{s}.view(time.Now()) }

// view draws the screen as it is at a time.
func (s drawing) view(now time.Time) tea.View {
	v := tea.View{AltScreen: true, MouseMode: tea.MouseModeCellMotion, WindowTitle: "massgen " + plain.Line(s.session.ID)}
	if s.size.Width <= 0 || s.size.Height <= 0 {
		return v
	}
	lines := s.header(now)
	if s.overlay != nil {
		room := max(s.size.Height-len(lines), 1)
		lines = append(lines, s.overlay.view(s.size.Width, room)...)
	} else {
		lines = append(lines, s.transcript.view()...)
		lines = append(lines, s.agents(now)...)
		lines = append(lines, s.strip()...)
		lines = append(lines, faint(strings.Repeat("─", s.size.Width)))
		if c := s.entry.area.Cursor(); c != nil && s.focus < 0 {
			c.Y += len(lines)
			v.Cursor = c
		}
		lines = append(lines, strings.Split(s.entry.area.View(), "\n")...)
		lines = append(lines, faint(ansi.Truncate(s.fitting(s.hint()), s.size.Width, "…")))
	}
	if len(lines) > s.size.Height {
		lines = lines[:s.size.Height]
	}
	for i, line := range lines {
		lines[i] = fitted(line, s.size.Width)
	}
	v.Content = strings.Join(lines, "\n")
	if s.mood.isKnown {
		v.Content = markdown.OnBackground(v.Content, s.mood.isDark)
	}
	return v
}

func (s drawing) agents(now time.Time) []string {
	rows := s.paneRows()
	if rows == 0 {
		return nil
	}
	lines := []string{faint(strings.Repeat("─", s.size.Width))}
	return append(lines, s.shown.panes(s.size.Width, rows-1, s.focus, s.focus >= 0, now, s.conv.Redact)...)
}

// header says which session this is, who is asked, what it has cost and what is going on.
func (s drawing) header(now time.Time) []string {
	return append(s.panelLines(), s.figures(now), faint(strings.Repeat("─", s.size.Width)))
}

// panelLines name the session and all agents, with their models where there is room, in one line and
// in more of a higher screen.
func (s drawing) panelLines() []string {
	id, title := plain.Line(s.session.ID), bold("massgen")
	most := min(max(s.size.Height/10, 1), 4)
	full, ids := panelNames(s.session.Agents)
	for _, line := range []string{title + " " + id + full, title + " " + id + ids, id + ids} {
		if ansi.StringWidth(line) <= s.size.Width {
			return []string{line}
		}
	}
	lines := wrapped(title+" "+id+ids, s.size.Width)
	if len(lines) > most {
		cut := strings.Join(lines[most-1:], " ")
		lines = append(lines[:most-1], ansi.Truncate(cut, max(s.size.Width, 1), "…"))
	}
	return lines
}

// panelNames are the agents with their models, and without; a model that all have stands once, behind
// them.
func panelNames(agents []Agent) (full, ids string) {
	names, each, isOne := make([]string, len(agents)), make([]string, len(agents)), true
	for i, a := range agents {
		names[i], each[i] = plain.Line(a.ID), plain.Line(a.ID+" ("+a.Model+")")
		isOne = isOne && a.Model == agents[0].Model
	}
	if len(agents) == 0 {
		return "", ""
	}
	ids, full = faint(" · ")+strings.Join(names, ", "), faint(" · ")+strings.Join(each, ", ")
	if isOne {
		full = ids + faint(" · ") + plain.Line(agents[0].Model)
	}
	return full, ids
}

// figures are the second part of the header, in as many words as there is room for.
func (s drawing) figures(now time.Time) string {
	in, out := s.session.In, s.session.Out
	cost := "$?"
	usd, isKnown := 0.0, s.session.USD != nil
	if isKnown {
		usd = *s.session.USD
	}
	if s.running != nil && s.shown != nil {
		used := s.shown.used()
		in, out = in+used.in, out+used.out
		usd, isKnown = usd+used.usd, isKnown && !used.isUnknown
	}
	if isKnown {
		cost = fmt.Sprintf("$%.4f", usd)
	}
	state := s.state()
	if !s.session.isRead {
		return ansi.Truncate(state, s.size.Width, "…")
	}
	timed := state
	switch {
	case s.shown == nil:
	case s.running != nil:
		state += " · " + seconds(s.shown.elapsed(now))
		timed = state
	case s.shown.isOver():
		timed += " · took " + seconds(s.shown.elapsed(now))
	}
	const roomForTime = 4 // the choice of words is not to change with each second
	room := s.size.Width - roomForTime
	all := []string{plain.Count(s.session.Messages, "message"), fmt.Sprintf("tokens %s in, %s out", thousands(in), thousands(out)), cost, s.context("context ")}
	less := fmt.Sprintf("%s in, %s out", short(in), short(out))
	var line string
	for _, words := range [][]string{
		append([]string{timed}, all...), append([]string{state}, all...),
		{state, fmt.Sprintf("%d msgs", s.session.Messages), less, cost, s.context("ctx ")},
		{state, less, cost, s.context("ctx ")}, {state, less, cost},
	} {
		line = strings.Join(slices.DeleteFunc(words, func(word string) bool { return word == "" }), faint(" · "))
		if ansi.StringWidth(line) <= room {
			return line
		}
	}
	return ansi.Truncate(line, s.size.Width, "…")
}

// context says how large the context of the agent is that has the fullest one.
func (s drawing) context(title string) string {
	tokens, window := s.session.Context, s.session.Window
	switch {
	case tokens <= 0:
		return ""
	case window > 0:
		return fmt.Sprintf("%s%s (%d %%)", title, short(tokens), 100*tokens/window)
	}
	return title + short(tokens)
}

// state is what the panel is doing, in a word.
func (s drawing) state() string {
	switch {
	case !s.session.isRead:
		return "opening"
	case s.running == nil:
		return "ready"
	case s.running.ending:
		return "ending"
	case s.shown.isPaused:
		return asAlert("paused")
	}
	return asGood("thinking")
}

// fitting joins as many of the hints as there is room for, the first at any rate.
func (s drawing) fitting(hints []string) string {
	line := hints[0]
	for _, hint := range hints[1:] {
		longer := line + " · " + hint
		if ansi.StringWidth(longer) > s.size.Width {
			break
		}
		line = longer
	}
	return line
}

// hint is the last line: what can be done now, what matters most first.
func (s drawing) hint() []string {
	agent := []string{"Enter its whole text", "Esc back", "arrows another agent", "i its input"}
	switch {
	case s.leaving:
		return []string{"once more leaves"}
	case s.focus >= 0 && s.running != nil:
		return append(agent, "p pause", "x go on without it")
	case s.focus >= 0:
		return agent
	case s.shell.isRunning():
		return []string{"a command is running: Esc ends it", "? keys"}
	case s.running != nil:
		return s.turnHint()
	case s.entry.context != "":
		return []string{"the output of the command goes with the next question", "Ctrl+U drops it"}
	}
	return []string{"Enter send", "? keys", "Esc leave", "Ctrl+N new session", "Ctrl+S sessions", "Ctrl+J new line", "Tab agents"}
}

// turnHint says what was last heard of a turn, and what can be done while it runs.
func (s drawing) turnHint() (hints []string) {
	if n := len(s.shown.remarks); n > 0 {
		hints = append(hints, s.conv.Redact(s.shown.remarks[n-1]))
	}
	return append(hints, "Enter adds a note", "Tab agents", "Esc ends the turn", "? keys")
}
