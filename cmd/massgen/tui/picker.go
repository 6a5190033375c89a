package tui

import (
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/massgen/massgen/internal/system/plain"
)

// pick is a line of a picker. right stands at the end of the line. turn is the turn that was found, 0 without one.
type pick struct {
	name, text, right string
	turn              int
}

// picker lets a person choose from a list by typing a part of it.
type picker struct {
	title  string
	list   []pick
	word   string
	at     int
	choose func(chosen pick) tea.Cmd
	// search looks for a word elsewhere and returns a foundMsg; nil for complete lists. One search runs
	// at a time. When it is over, the picker searches for the word typed meanwhile.
	search    func(p *picker, word string) tea.Cmd
	isBusy    bool
	found     []pick
	foundWord string // the word of the search for found
}

func newPicker(title string, list []Choice, choose func(name string) tea.Cmd) *picker {
	p := &picker{title: title, choose: func(chosen pick) tea.Cmd { return choose(chosen.name) }}
	for _, c := range list {
		p.list = append(p.list, pick{name: c.Name, text: c.Name + "  " + c.About})
	}
	return p
}

// fit returns the lines that contain the word, in any case, and then the lines found elsewhere.
func (p *picker) fit() (fit []pick) {
	word := strings.ToLower(p.word)
	for _, c := range p.list {
		if strings.Contains(strings.ToLower(c.text+" "+c.right), word) {
			fit = append(fit, c)
		}
	}
	if p.foundWord == p.word {
		fit = append(fit, p.found...)
	}
	return fit
}

// look begins to search for the typed word.
func (p *picker) look() tea.Cmd {
	if p.search == nil || p.isBusy || p.word == p.foundWord {
		return nil
	}
	if strings.TrimSpace(p.word) == "" {
		p.found, p.foundWord = nil, p.word
		return nil
	}
	p.isBusy = true
	return p.search(p, p.word)
}

// take takes the results of a search.
func (p *picker) take(msg foundMsg) tea.Cmd {
	p.isBusy, p.found, p.foundWord = false, msg.list, msg.word
	return p.look()
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
	case "enter":
		if p.at < len(fit) && fit[p.at].name != "" {
			return nil, p.choose(fit[p.at])
		}
	default:
		p.retype(string(edited([]rune(p.word), msg)))
	}
	return p, p.look()
}

// retype changes the typed word.
func (p *picker) retype(word string) {
	if word != p.word {
		p.word, p.at = word, 0
	}
}

func (p *picker) paste(text string) (taken bool) {
	p.retype(p.word + plain.Line(text))
	return true
}

func (p *picker) view(width, height int) []string {
	lines := []string{chosen(padded(ansi.Truncate(" "+p.title+", Esc closes", width, "…"), width)), ansi.Truncate("search: "+p.word, width, "…")}
	fit := p.fit()
	room := max(height-len(lines), 1)
	first := max(min(p.at-room/2, len(fit)-room), 0)
	for i := first; i < min(first+room, len(fit)); i++ {
		line := fit[i].line(width)
		if i == p.at {
			line = chosen(padded(line, width))
		}
		lines = append(lines, line)
	}
	switch {
	case p.isBusy:
		lines = append(lines[:min(len(lines), height-1)], faint("searching the texts …"))
	case len(fit) == 0:
		lines = append(lines, faint("nothing has that in it"))
	}
	return lines
}

// line draws a line of a width. right has at most half of it.
func (c pick) line(width int) string {
	text := plain.Line(c.text)
	right := ansi.Truncate(plain.Line(c.right), width/2, "…")
	if right == "" {
		return ansi.Truncate(text, width, "…")
	}
	const gap = 2
	room := max(width-ansi.StringWidth(right)-gap, 1)
	return padded(ansi.Truncate(text, room, "…"), room+gap) + right
}
