package tui

import (
	"fmt"
	"strings"

	"charm.land/bubbles/v2/viewport"
	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/massgen/massgen/internal/system/plain"
)

// overlay covers the rest of the screen until it is done.
type overlay interface {
	// press takes a key and returns the overlay after it, nil for none.
	press(msg tea.KeyPressMsg) (next overlay, cmd tea.Cmd)
	// view draws the overlay.
	view(width, height int) []string
}

// pager shows a long text.
type pager struct {
	title  string
	text   string
	keys   string
	paint  func(line string) func(string) string // nil for none
	indent int                                   // of the further lines of a wrapped line
	port   viewport.Model
	width  int
}

// newTable returns a pager for lines of two columns. The first has indent columns of the screen.
func newTable(title, text string, indent int) *pager {
	p := newPager(title, text)
	p.indent = indent
	return p
}

func newPager(title, text string) *pager {
	return &pager{title: title, keys: "Esc closes, arrows scroll", text: strings.TrimRight(printable(text), "\n"), port: viewport.New()}
}

func (p *pager) press(msg tea.KeyPressMsg) (overlay, tea.Cmd) {
	switch msg.String() {
	case "esc", "q", "ctrl+c", "enter":
		return nil, nil
	case "home", "g":
		p.port.GotoTop()
		return p, nil
	case "end", "G":
		p.port.GotoBottom()
		return p, nil
	}
	var cmd tea.Cmd
	p.port, cmd = p.port.Update(msg)
	return p, cmd
}

func (p *pager) view(width, height int) []string {
	if p.width != width {
		p.width = width
		p.port.SetContentLines(p.lines(width))
	}
	p.port.SetWidth(width)
	p.port.SetHeight(max(height-1, 1))
	return append([]string{titleOf(p.title, p.keys, p.port, width)}, strings.Split(p.port.View(), "\n")...)
}

// titleOf returns the line above a scrolling text, with the shown part of it.
func titleOf(title, keys string, port viewport.Model, width int) string {
	place := ""
	if all := port.TotalLineCount(); all > port.Height() {
		place = fmt.Sprintf(" %d-%d of %d ", port.YOffset()+1, min(port.YOffset()+port.Height(), all), all)
	}
	room := max(width-ansi.StringWidth(place), 0)
	title = " " + plain.Line(title) + "   "
	if ansi.StringWidth(title+keys) > room {
		keys = "Esc closes"
	}
	return chosen(padded(ansi.Truncate(title+keys, room, "…"), room) + ansi.Truncate(place, width, ""))
}

func (p *pager) lines(width int) (lines []string) {
	if p.indent == 0 && p.paint == nil {
		return wrapped(p.text, width)
	}
	for line := range strings.SplitSeq(p.text, "\n") {
		if p.paint != nil {
			lines = append(lines, framed(p.paint(line), "", line, width)...)
		} else if len(line) > p.indent && strings.Contains(line[:p.indent], "  ") && line[p.indent] != ' ' {
			lines = append(lines, hanging(line[:p.indent], line[p.indent:], width)...)
		} else {
			lines = append(lines, wrapped(line, width)...)
		}
	}
	return lines
}
