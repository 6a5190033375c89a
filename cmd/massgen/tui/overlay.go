package tui

import (
	"strings"

	"charm.land/bubbles/v2/viewport"
	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
)

// overlay stands before the rest of the screen until it is done.
type overlay interface {
	// press takes a key. Next is what stands there after it, nil for nothing.
	press(msg tea.KeyPressMsg) (next overlay, cmd tea.Cmd)
	// view draws it in so many lines.
	view(width, height int) []string
}

// pager shows a long text.
type pager struct {
	title string
	text  string
	port  viewport.Model
	width int
}

func newPager(title, text string) *pager {
	return &pager{title: title, text: strings.TrimRight(printable(text), "\n"), port: viewport.New()}
}

// newStyledPager is newPager for a text that the screen has coloured.
func newStyledPager(title, text string) *pager {
	return &pager{title: title, text: text, port: viewport.New()}
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
		p.port.SetContentLines(wrapped(p.text, width))
	}
	p.port.SetWidth(width)
	p.port.SetHeight(max(height-1, 1))
	title := chosen(padded(ansi.Truncate(" "+p.title+"   Esc closes, arrows scroll", width, "…"), width))
	return append([]string{title}, strings.Split(p.port.View(), "\n")...)
}

// picker lets a person choose from a list by typing a part of it.
type picker struct {
	title  string
	list   []Choice
	word   string
	at     int
	choose func(name string) tea.Cmd
}

func newPicker(title string, list []Choice, choose func(name string) tea.Cmd) *picker {
	return &picker{title: title, list: list, choose: choose}
}

// fit are the choices that have the word in them, in small letters or large.
func (p *picker) fit() (fit []Choice) {
	word := strings.ToLower(p.word)
	for _, c := range p.list {
		if strings.Contains(strings.ToLower(c.Name+" "+c.About), word) {
			fit = append(fit, c)
		}
	}
	return fit
}

func (p *picker) press(msg tea.KeyPressMsg) (overlay, tea.Cmd) {
	fit := p.fit()
	switch msg.String() {
	case "esc", "ctrl+c":
		return nil, nil
	case "up", "ctrl+p":
		p.at = max(p.at-1, 0)
	case "down", "ctrl+n":
		p.at = min(p.at+1, max(len(fit)-1, 0))
	case "backspace":
		if runes := []rune(p.word); len(runes) > 0 {
			p.word, p.at = string(runes[:len(runes)-1]), 0
		}
	case "enter":
		if p.at < len(fit) {
			return nil, p.choose(fit[p.at].Name)
		}
	default:
		if msg.Text != "" {
			p.word, p.at = p.word+printable(msg.Text), 0
		}
	}
	return p, nil
}

func (p *picker) view(width, height int) []string {
	lines := []string{chosen(padded(ansi.Truncate(" "+p.title+", Esc closes", width, "…"), width)), ansi.Truncate("search: "+p.word, width, "…")}
	fit := p.fit()
	room := max(height-len(lines), 1)
	first := max(min(p.at-room/2, len(fit)-room), 0)
	for i := first; i < min(first+room, len(fit)); i++ {
		line := ansi.Truncate(printable(fit[i].Name+"  "+fit[i].About), width, "…")
		if i == p.at {
			line = chosen(padded(line, width))
		}
		lines = append(lines, line)
	}
	if len(fit) == 0 {
		lines = append(lines, faint("nothing has that in it"))
	}
	return lines
}

// question asks for a yes.
type question struct {
	text string
	yes  func() tea.Cmd
}

func (q *question) press(msg tea.KeyPressMsg) (overlay, tea.Cmd) {
	switch msg.String() {
	case "y":
		return nil, q.yes()
	case "n", "esc", "ctrl+c":
		return nil, nil
	}
	return q, nil
}

func (q *question) view(width, _ int) []string {
	return append(framed(bold, "  ", q.text, width), "", "  y yes   n no")
}
