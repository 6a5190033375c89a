package tui

import (
	"fmt"
	"slices"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/massgen/massgen/internal/system/plain"
)

// leastBoxed is the fewest rows of a screen on which questions leave the agents in sight.
const leastBoxed = 16

// isBoxed reports whether an overlay stands between the agents and the line, and leaves them in sight.
func isBoxed(o overlay, rows int) bool {
	switch o.(type) {
	case *dialog, *question, *lineEditor:
		return rows >= leastBoxed
	}
	return false
}

// box returns the lines between the agents and the line: a question, or the menu of what fits the typed word.
func (s *screen) box() []string {
	const reserved = 6 // the rows of the header, the line and the hint
	room := max((s.rows()-reserved)*2/3, 1)
	switch {
	case isBoxed(s.overlay, s.rows()):
		return s.overlay.view(s.size.Width, room)
	case s.overlay == nil && s.focus < 0:
		return s.menu.lines(s.size.Width, room)
	}
	return nil
}

// question asks a person for a yes. below is the overlay that it covers.
type question struct {
	text  string
	yes   func() tea.Cmd
	below overlay
}

func (q *question) press(msg tea.KeyPressMsg) (overlay, tea.Cmd) {
	switch msg.String() {
	case "y":
		return nil, q.yes()
	case "n", "esc", "ctrl+c":
		return q.below, nil
	}
	return q, nil
}

func (q *question) view(width, _ int) []string {
	return append(framed(bold, "  ", q.text, width), "", "  y yes   n no")
}

// deletion asks whether a session with a number of turns is to be deleted.
func deletion(session string, turns int, yes func() tea.Cmd, below overlay) *question {
	text := fmt.Sprintf("Delete %s, with %s? Until massgen ends, /undo in an empty session goes back to it; then it is gone.", session, plain.Count(turns, "turn"))
	return &question{text, yes, below}
}

// lineEditor lets a person edit a line, such as a title. below is the overlay that it covers.
type lineEditor struct {
	title string
	text  []rune
	take  func(text string) tea.Cmd
	below overlay
}

func (e *lineEditor) press(msg tea.KeyPressMsg) (overlay, tea.Cmd) {
	switch msg.String() {
	case "enter":
		return nil, e.take(string(e.text))
	case "esc", "ctrl+c":
		return e.below, nil
	}
	e.text = edited(e.text, msg)
	return e, nil
}

func (e *lineEditor) paste(text string) (taken bool) {
	e.text = append(e.text, []rune(plain.Line(text))...)
	return true
}

func (e *lineEditor) view(width, _ int) []string {
	return []string{bold(ansi.Truncate("  "+e.title, width, "…")), lineWithCursor("  ", string(e.text), width), faint(ansi.Truncate("  Enter keeps it, Esc leaves it as it was", width, "…"))}
}

// edited returns a short text after a key: a letter, Backspace or Ctrl+U.
func edited(text []rune, msg tea.KeyPressMsg) []rune {
	switch msg.String() {
	case "ctrl+u":
		return nil
	case "backspace":
		return text[:max(len(text)-1, 0)]
	}
	return append(slices.Clip(text), []rune(plain.Line(msg.Text))...)
}

// lineWithCursor draws the end of a text that fits into a width, and a cursor behind it.
func lineWithCursor(head, text string, width int) string {
	line := head + text
	return ansi.TruncateLeft(line, max(ansi.StringWidth(line)-width+2, 0), "") + "█"
}

// paster is an overlay that takes pasted texts, at times.
type paster interface {
	paste(text string) (taken bool)
}
