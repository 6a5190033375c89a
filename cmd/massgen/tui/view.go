package tui

import (
	"fmt"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/massgen/massgen/internal/colour"
	"github.com/massgen/massgen/internal/plain"
)

// Rows of the screen beside the conversation, the agents and the entry.
const (
	headerRows = 3
	hintRows   = 1
	mostStrip  = 3
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
	return max(s.size.Height-headerRows-hintRows-1-min(s.entry.area.Height(), entryLines), 1)
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
		lines = append(lines, faint(ansi.Truncate(s.hint(), s.size.Width, "…")))
	}
	if len(lines) > s.size.Height {
		lines = lines[:s.size.Height]
	}
	for i, line := range lines {
		lines[i] = fitted(line, s.size.Width)
	}
	v.Content = strings.Join(lines, "\n")
	if s.mood.isKnown {
		v.Content = colour.On(v.Content, s.mood.isDark)
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
	first := bold("massgen") + " " + plain.Line(s.session.ID)
	if names := panelNames(s.session.Agents); names != "" {
		first += faint(" · ") + names
	}
	return []string{
		ansi.Truncate(first, s.size.Width, "…"), ansi.Truncate(strings.Join(s.figures(now), faint(" · ")), s.size.Width, "…"),
		faint(strings.Repeat("─", s.size.Width)),
	}
}

// panelNames are the agents with their models; a model that all have stands once, behind them.
func panelNames(agents []Agent) string {
	ids, each, isOne := make([]string, len(agents)), make([]string, len(agents)), true
	for i, a := range agents {
		ids[i], each[i] = plain.Line(a.ID), plain.Line(a.ID+" ("+a.Model+")")
		isOne = isOne && a.Model == agents[0].Model
	}
	switch {
	case len(agents) == 0:
		return ""
	case isOne:
		return strings.Join(ids, ", ") + faint(" · ") + plain.Line(agents[0].Model)
	}
	return strings.Join(each, ", ")
}

// figures are what the second line of the header says.
func (s drawing) figures(now time.Time) []string {
	in, out := s.session.In, s.session.Out
	cost, state := "$?", "ready"
	usd, isKnown := 0.0, s.session.USD != nil
	if isKnown {
		usd = *s.session.USD
	}
	if s.running != nil && s.shown != nil {
		used := s.shown.used()
		in, out = in+used.in, out+used.out
		usd, isKnown = usd+used.usd, isKnown && !used.isUnknown
		state = s.state()
	}
	if isKnown {
		cost = fmt.Sprintf("$%.4f", usd)
	}
	list := []string{state}
	if s.running != nil && s.shown != nil {
		list = append(list, seconds(s.shown.elapsed(now)))
	}
	list = append(list, fmt.Sprintf("%d messages", s.session.Messages), fmt.Sprintf("tokens %s in, %s out", thousands(in), thousands(out)), cost)
	if s.session.Context >= 0 {
		list = append(list, fmt.Sprintf("context %d %%", s.session.Context))
	}
	return list
}

// state is what the panel is doing, in a word.
func (s drawing) state() string {
	switch {
	case s.running.ending:
		return "ending"
	case s.shown.isPaused:
		return asAlert("paused")
	}
	return asGood("thinking")
}

// hint is the last line: what can be done now.
func (s drawing) hint() string {
	switch {
	case s.leaving:
		return "once more leaves"
	case s.focus >= 0 && s.running != nil:
		return "Enter its whole text · p pause · x go on without it · i its input · arrows another agent · Esc back"
	case s.focus >= 0:
		return "Enter its whole text · i its input · arrows another agent · Esc back"
	case s.running != nil:
		return s.turnHint()
	case s.entry.context != "":
		return "the output of the command goes with the next question · Ctrl+U drops it"
	}
	return "Enter send · Ctrl+J new line · Ctrl+N new session · Ctrl+S sessions · ? keys · Esc leave"
}

// turnHint says what can be done while a turn runs, and what was last heard of it.
func (s drawing) turnHint() string {
	hint := "Enter adds a note · Tab agents · Esc ends the turn"
	if n := len(s.shown.notes); n > 0 {
		seen := 0
		for _, a := range s.shown.agents {
			if a.saw >= n {
				seen++
			}
		}
		hint = fmt.Sprintf("your note was seen by %d of %d · ", seen, len(s.shown.agents)) + hint
	}
	if n := len(s.shown.remarks); n > 0 {
		hint = s.conv.Redact(s.shown.remarks[n-1]) + " · " + hint
	}
	return hint
}
