package tui

import (
	"slices"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/massgen/massgen/cmd/massgen/internal/markdown"
	"github.com/massgen/massgen/cmd/massgen/internal/signs"
	"github.com/massgen/massgen/internal/system/plain"
)

// The rows of the hint, and the most rows of parts.
const (
	hintRows  = 1
	mostStrip = 3
	// mostInline is the most rows of the agents of an inline screen.
	mostInline = 12
	// mostAbove is the most rows of the conversation above the agents of a running turn.
	mostAbove = 8
)

// layOut sets the sizes of the parts.
func (s *screen) layOut() {
	if s.size.Width <= 0 {
		return
	}
	s.entry.area.SetWidth(s.size.Width)
	s.transcript.resize(s.size.Width, max(s.bodyRows()-s.paneRows()-len(s.strip(time.Time{})), 0))
	if d, ok := s.overlay.(*dialog); ok && d.isOver() {
		s.overlay = d.below
	}
}

// rows returns the most rows of the screen. An inline screen leaves room for the lines that are printed above it: the
// library would push its first rows into the scrollback.
func (s *screen) rows() int {
	if s.mood.inline {
		return max(s.size.Height-printRows(s.size.Height), 1)
	}
	return s.size.Height
}

// printRows returns how many lines an inline screen of a height prints at once.
func printRows(height int) int { return max(height/3, 1) }

// bodyRows returns the number of rows between the header and the box or the entry.
func (s *screen) bodyRows() int {
	return max(s.rows()-len(s.header().lines(time.Time{}))-hintRows-1-len(s.box())-min(s.entry.area.Height(), entryLines), 1)
}

// hasPanes reports whether the agents are shown: while a turn runs, or one of them is chosen.
func (s *screen) hasPanes() bool {
	return s.talk.shown != nil && (s.talk.running != nil || s.focus >= 0)
}

// paneRows returns the number of rows for the agents: all but a few of the conversation, or half of them once somebody
// scrolls it.
func (s *screen) paneRows() int {
	body := s.bodyRows()
	switch {
	case !s.hasPanes():
		return 0
	case s.mood.inline:
		return min(max(body/2, 1), mostInline)
	}
	body = max(body-len(s.strip(time.Time{})), 1)
	if s.transcript.at.isFree && s.transcript.at.first == 0 {
		return max(body/2, 1)
	}
	return max(body-min(body/5, mostAbove), 1)
}

// strip returns the lines below the agents: the answers and votes of the newest rounds, and who leads and is waited for.
// It is empty when the agents are folded: their lines in the conversation say the same.
func (s *screen) strip(now time.Time) (lines []string) {
	turn := s.talk.shown
	if turn == nil || turn.IsAlone() || !s.hasPanes() && !s.mood.inline {
		return nil
	}
	most := min(mostStrip, s.bodyRows()/6)
	if now.IsZero() {
		now = turn.Began // the number of lines does not depend on it
	}
	line := standing(turn, now, s.size.Width)
	lines = strip(turn, s.size.Width, most)
	if line != "" && most > 0 {
		lines = append(lines[max(len(lines)-most+1, 0):], line)
	}
	return lines
}

// View implements tea.Model.
func (s *screen) View() tea.View { return s.view(time.Now()) }

// view draws the screen at a time.
func (s *screen) view(now time.Time) tea.View {
	v := tea.View{WindowTitle: s.header().title() + " · massgen"}
	if !s.mood.inline { // else the terminal scrolls, and its own keys select and copy
		v.AltScreen = true
	}
	if s.mood.wheel {
		v.MouseMode = tea.MouseModeCellMotion
	}
	if s.size.Width <= 0 || s.size.Height <= 0 {
		return v
	}
	lines := s.header().lines(now)
	if s.overlay != nil && !isBoxed(s.overlay, s.rows()) {
		room := max(s.rows()-len(lines), 1)
		lines = append(lines, s.overlay.view(s.size.Width, room)...)
	} else {
		if s.mood.inline {
			above := s.transcript.unprinted(s.transcript.height)
			lines = append(append(above, lines[len(lines)-1]), lines[:len(lines)-1]...) // the rule parts both
		} else {
			lines = append(lines, s.welcomed(s.transcript.view())...)
		}
		lines = append(lines, s.agents(now)...)
		lines = append(lines, s.strip(now)...)
		rule := asRule
		if s.focus >= 0 {
			rule = faint
		}
		lines = append(lines, rule(strings.Repeat("─", s.size.Width)))
		lines = append(lines, s.box()...)
		if c := s.entry.area.Cursor(); s.focus < 0 && s.overlay == nil {
			c.Y += len(lines)
			v.Cursor = c
		}
		lines = append(lines, strings.Split(s.entry.area.View(), "\n")...)
		lines = append(lines, ansi.Truncate(fitting(s.hint(), s.size.Width), s.size.Width, faint("…")))
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
	return drawing{now, s.conv.Redact, s.transcript.drawer, s.transcript.isOpen}
}

func (s *screen) agents(now time.Time) []string {
	rows := s.paneRows()
	if rows == 0 {
		return nil
	}
	return s.panes.draw(s.talk.shown, s.size.Width, rows, s.focus, s.drawing(now))
}

// welcomed puts the panel into the free lines of a conversation without a question.
func (s *screen) welcomed(lines []string) []string {
	isOther := func(b block) bool { return b.kind != told }
	if s.hasPanes() || !s.session.isRead || slices.ContainsFunc(s.transcript.blocks, isOther) {
		return lines
	}
	free := len(lines)
	for free > 0 && lines[free-1] == "" {
		free--
	}
	welcome := []string{"", "  " + asTitle("Ask a question.") + " " + plain.Count(len(s.session.Agents), "agent") + " answer it, then improve or vote.", ""}
	if len(s.session.Agents) == 1 {
		welcome[1] = "  " + asTitle("Ask a question.")
	}
	wide := 0
	for _, a := range s.session.Agents {
		wide = max(wide, ansi.StringWidth(plain.Line(a.ID)))
	}
	for i, a := range s.session.Agents {
		welcome = append(welcome, "  "+strongAgent(i)(signs.Of(i)+" "+padded(plain.Line(a.ID), wide))+"  "+faint(plain.Line(a.Model)))
	}
	if len(lines)-free < len(welcome) {
		return lines
	}
	return append(lines[:free:free], append(welcome, blank(len(lines)-free-len(welcome))...)...)
}

// fitting joins the hints that fit into a width, at least the first.
func fitting(hints []string, width int) string {
	line := asKeys(hints[0])
	for _, hint := range hints[1:] {
		longer := line + faint(" · ") + asKeys(hint)
		if ansi.StringWidth(longer) > width {
			break
		}
		line = longer
	}
	return line
}
