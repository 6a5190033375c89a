package tui

import (
	"context"
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
	return chosen(padded(ansi.Truncate(" "+plain.Line(title)+"   "+keys, room, "…"), room) + ansi.Truncate(place, width, ""))
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

// picker lets a person choose from a list by typing a part of it.
type picker struct {
	title  string
	list   []Choice
	word   string
	at     int
	choose func(name string) tea.Cmd
	// search looks for a word elsewhere and returns a foundMsg; nil for complete lists. One search runs
	// at a time. When it is over, the picker searches for the word typed meanwhile.
	search    func(p *picker, word string) tea.Cmd
	isBusy    bool
	found     []Choice
	foundWord string // the word of the search for found
}

func newPicker(title string, list []Choice, choose func(name string) tea.Cmd) *picker {
	return &picker{title: title, list: list, choose: choose}
}

// fit returns the choices that contain the word, in any case, and then the choices found elsewhere.
func (p *picker) fit() (fit []Choice) {
	word := strings.ToLower(p.word)
	for _, c := range p.list {
		if strings.Contains(strings.ToLower(c.Name+" "+c.About), word) {
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
	case "backspace":
		if runes := []rune(p.word); len(runes) > 0 {
			p.word, p.at = string(runes[:len(runes)-1]), 0
		}
	case "ctrl+u":
		p.word, p.at = "", 0
	case "enter":
		if p.at < len(fit) {
			return nil, p.choose(fit[p.at].Name)
		}
	default:
		if msg.Text != "" {
			p.word, p.at = p.word+plain.Line(msg.Text), 0
		}
	}
	return p, p.look()
}

func (p *picker) view(width, height int) []string {
	lines := []string{chosen(padded(ansi.Truncate(" "+p.title+", Esc closes", width, "…"), width)), ansi.Truncate("search: "+p.word, width, "…")}
	fit := p.fit()
	room := max(height-len(lines), 1)
	first := max(min(p.at-room/2, len(fit)-room), 0)
	for i := first; i < min(first+room, len(fit)); i++ {
		line := ansi.Truncate(plain.Line(fit[i].Name+"  "+fit[i].About), width, "…")
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

// sessionPicker lets a person choose a session by its title or its texts.
func (s *screen) sessionPicker(list []Choice) *picker {
	p := newPicker("Sessions: Enter opens one", list, func(name string) tea.Cmd { return s.idleCommand("/session " + name) })
	p.search = func(p *picker, word string) tea.Cmd {
		return s.conv.do(func(ctx context.Context) tea.Msg {
			found, err := s.conv.Search(ctx, word)
			if err != nil {
				found = []Choice{{About: "the texts cannot be searched: " + s.conv.Redact(err.Error())}}
			}
			return foundMsg{p, word, found}
		})
	}
	return p
}

// question asks a person for a yes.
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
