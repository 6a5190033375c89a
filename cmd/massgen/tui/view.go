package tui

import (
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/massgen/massgen/cmd/massgen/internal/markdown"
	"github.com/massgen/massgen/internal/system/plain"
)

// The rows of the hint, and the most rows of parts.
const (
	hintRows  = 1
	mostStrip = 3
	// mostInline is the most rows of the agents of an inline screen.
	mostInline = 12
)

// layOut sets the sizes of the parts.
func (s *screen) layOut() {
	if s.size.Width <= 0 {
		return
	}
	s.entry.area.SetWidth(s.size.Width)
	s.transcript.resize(s.size.Width, max(s.bodyRows()-s.paneRows()-len(s.strip()), 0))
	if d, ok := s.overlay.(*dialog); ok && d.isOver() {
		s.overlay = d.below
	}
}

// rows returns the most rows of the screen. An inline screen leaves room for the lines that are printed above it: the
// library would push its first rows into the scrollback.
func (s *screen) rows() int {
	if s.mood.inline {
		return max(s.size.Height-s.printRows(), 1)
	}
	return s.size.Height
}

// printRows returns how many lines an inline screen prints at once.
func (s *screen) printRows() int { return max(s.size.Height/3, 1) }

// bodyRows returns the number of rows between the header and the entry.
func (s *screen) bodyRows() int {
	return max(s.rows()-len(s.header().lines(time.Time{}))-hintRows-1-min(s.entry.area.Height(), entryLines), 1)
}

// paneRows returns the number of rows for the agents: two thirds of the body while a turn runs or an
// agent is chosen.
func (s *screen) paneRows() int {
	if s.talk.shown == nil || s.talk.running == nil && s.focus < 0 {
		return 0
	}
	if s.mood.inline {
		return min(max(s.bodyRows()/2, 1), mostInline)
	}
	return max(s.bodyRows()*2/3, 1)
}

func (s *screen) strip() []string {
	if s.talk.shown == nil || len(s.talk.shown.Agents) < 2 {
		return nil
	}
	return strip(s.talk.shown, s.size.Width, min(mostStrip, s.bodyRows()/4))
}

// View implements tea.Model.
func (s *screen) View() tea.View { return s.view(time.Now()) }

// view draws the screen at a time.
func (s *screen) view(now time.Time) tea.View {
	v := tea.View{WindowTitle: "massgen " + plain.Line(s.session.ID)}
	if !s.mood.inline { // else the terminal scrolls, and its own keys select and copy
		v.AltScreen, v.MouseMode = true, tea.MouseModeCellMotion
	}
	if s.size.Width <= 0 || s.size.Height <= 0 {
		return v
	}
	lines := s.header().lines(now)
	if s.overlay != nil {
		room := max(s.rows()-len(lines), 1)
		lines = append(lines, s.overlay.view(s.size.Width, room)...)
	} else {
		if s.mood.inline {
			above := s.transcript.unprinted(s.transcript.height)
			lines = append(append(above, lines[len(lines)-1]), lines[:len(lines)-1]...) // the rule parts both
		} else {
			lines = append(lines, s.transcript.view()...)
		}
		lines = append(lines, s.agents(now)...)
		lines = append(lines, s.strip()...)
		lines = append(lines, faint(strings.Repeat("─", s.size.Width)))
		if c := s.entry.area.Cursor(); c != nil && s.focus < 0 {
			c.Y += len(lines)
			v.Cursor = c
		}
		lines = append(lines, strings.Split(s.entry.area.View(), "\n")...)
		lines = append(lines, faint(ansi.Truncate(fitting(s.hint(), s.size.Width), s.size.Width, "…")))
	}
	if over := len(lines) - s.rows(); over > 0 && s.mood.inline && v.Cursor != nil {
		lines = lines[over:]
		v.Cursor.Y -= over
	} else if over > 0 {
		lines = lines[:s.rows()]
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

func (s *screen) drawing(now time.Time) drawing {
	return drawing{now, s.conv.Redact, s.transcript.isOpen}
}

func (s *screen) agents(now time.Time) []string {
	rows := s.paneRows()
	if rows == 0 {
		return nil
	}
	lines := []string{faint(strings.Repeat("─", s.size.Width))}
	return append(lines, panes(s.talk.shown, s.size.Width, rows-1, s.focus, s.focus >= 0, s.drawing(now))...)
}

// fitting joins the hints that fit into a width, at least the first.
func fitting(hints []string, width int) string {
	line := hints[0]
	for _, hint := range hints[1:] {
		longer := line + " · " + hint
		if ansi.StringWidth(longer) > width {
			break
		}
		line = longer
	}
	return line
}

// hint returns the keys that work now, the most important first.
func (s *screen) hint() []string {
	agent := []string{"Enter its whole text", "Esc back", "arrows another agent", "i its input"}
	switch {
	case s.leaving:
		return []string{"once more leaves"}
	case s.focus >= 0 && s.talk.running != nil:
		return append(agent, "p pause", "x go on without it", "Ctrl+X tool calls")
	case s.focus >= 0:
		return append(agent, "Ctrl+X tool calls")
	case s.shell.command.isRunning():
		return []string{"a command is running: Esc ends it", "? keys"}
	case s.talk.running != nil:
		return s.talk.hint()
	case s.entry.context != "":
		return []string{"the output of the command goes with the next question", "Ctrl+U drops it"}
	}
	return []string{"Enter send", "? keys", "Esc leave", "Ctrl+N new session", "Ctrl+S sessions", "Ctrl+J new line", "Tab agents", "Ctrl+X progress"}
}
