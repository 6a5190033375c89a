package tui

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/massgen/massgen/internal/system/plain"
)

// Kept is a session in the list of all sessions. Title is the question of a session without a title. Panel names the
// panel that it was begun with. USD is nil if the cost is unknown.
type Kept struct {
	ID, Title, Panel string
	Used             time.Time
	Turns            int
	USD              *float64
}

// Found is a place with the words of a search: a turn of a session, and the text around the words.
type Found struct {
	ID   string
	Turn int
	Text string
}

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
	// act takes a key for the chosen line, and returns the overlay after it. ok reports whether the key means something.
	// It is nil if no key does.
	act func(key string, p *picker, chosen pick) (next overlay, ok bool)
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
	if p.act != nil && p.at < len(fit) {
		if next, ok := p.act(msg.String(), p, fit[p.at]); ok {
			return next, nil
		}
	}
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

func (p *picker) paste(text string) { p.retype(p.word + plain.Line(text)) }

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

// sessionPicker lets a person choose a session by its title or its texts, rename it and delete it.
func (s *screen) sessionPicker(list []Kept, word string) *picker {
	p := &picker{title: "Sessions: Enter opens, Ctrl+R renames, Ctrl+D deletes", word: word, choose: s.openSession}
	const longestTitle = 24 // before a place that was found
	text := func(k Kept) string { return k.Used.Format("2006-01-02 15:04") + "  " + k.Title }
	find := func(id string) (Kept, bool) {
		i := slices.IndexFunc(list, func(k Kept) bool { return k.ID == id })
		if i < 0 {
			return Kept{ID: id}, false
		}
		return list[i], true
	}
	for _, k := range list {
		p.list = append(p.list, pick{name: k.ID, text: text(k), right: k.figures()})
	}
	p.act = func(key string, p *picker, chosen pick) (overlay, bool) {
		k, ok := find(chosen.name)
		switch {
		case ok && key == "ctrl+r":
			return &lineEditor{title: "Another title for this session", text: []rune(plain.Line(k.Title)), below: p, take: func(title string) tea.Cmd { return s.rename(k, title) }}, true
		case ok && (key == "ctrl+d" || key == "delete"):
			text := fmt.Sprintf("Delete %q, with %s? /undo in an empty session takes that back, until massgen ends.", plain.Line(k.Title), plain.Count(k.Turns, "turn"))
			return &question{text, func() tea.Cmd { return s.discard(k) }, p}, true
		}
		return nil, false
	}
	p.search = func(p *picker, word string) tea.Cmd {
		return s.conv.do(func(ctx context.Context) tea.Msg {
			found, err := s.conv.Search(ctx, word)
			if err != nil {
				return foundMsg{p, word, []pick{{text: "the texts cannot be searched: " + s.conv.Redact(err.Error())}}}
			}
			var picks []pick
			for _, c := range found {
				title := c.ID
				if k, ok := find(c.ID); ok {
					title = ansi.Truncate(plain.Line(k.Title), longestTitle, "…")
				}
				picks = append(picks, pick{name: c.ID, text: fmt.Sprintf("%s · turn %d: %s", title, c.Turn, around(c.Text, word)), turn: c.Turn})
			}
			return foundMsg{p, word, picks}
		})
	}
	return p
}

// openSession goes on with a session, and shows the turn that was found in it.
func (s *screen) openSession(chosen pick) tea.Cmd {
	if chosen.name == s.session.ID {
		s.transcript.showTurn(chosen.turn)
		return nil
	}
	s.seek = chosen.turn
	return s.idleCommand("/session " + chosen.name)
}

// showTurn scrolls to the question of a turn.
func (t *transcript) showTurn(turn int) {
	for i := range t.blocks {
		if t.blocks[i].kind != asked {
			continue
		}
		if turn--; turn != 0 {
			continue
		}
		lines := 0
		for j := i; j < len(t.blocks); j++ {
			lines += len(t.lines(j))
		}
		t.at.toEnd()
		t.scroll(max(lines-t.height, 0))
		return
	}
}

// around returns a text from a few words before a word.
func around(text, word string) string {
	const before = 12 // letters
	text = plain.Line(text)
	first, _, _ := strings.Cut(strings.ToLower(strings.TrimSpace(word)), " ")
	lower := strings.ToLower(text) // has as many letters
	at := strings.Index(lower, first)
	if at < 0 {
		return text
	}
	if at = utf8.RuneCountInString(lower[:at]) - before; at <= 0 {
		return text
	}
	return "…" + string([]rune(text)[at:])
}

// figures returns the panel, the number of turns and the cost of a session.
func (k Kept) figures() string {
	cost := "$?"
	if k.USD != nil {
		cost = fmt.Sprintf("$%.4f", *k.USD)
	}
	const widest = 24
	figures := fmt.Sprintf("%8s %9s", plain.Count(k.Turns, "turn"), cost)
	if k.Panel == "" {
		return figures
	}
	return ansi.Truncate(plain.Line(k.Panel), widest, "…") + " " + figures
}

// rename gives a session another title, and lists the sessions again.
func (s *screen) rename(k Kept, title string) tea.Cmd {
	return s.conv.run(func(ctx context.Context) (tea.Msg, error) {
		if err := s.conv.Rename(ctx, k.ID, title); err != nil {
			return nil, about("rename the session", err)
		}
		return tea.BatchMsg{s.conv.readSessions(""), s.conv.readSession}, nil
	})
}

// discard deletes a session, and lists the others. The open one is left for a new session.
func (s *screen) discard(k Kept) tea.Cmd {
	if k.ID == s.session.ID {
		return s.idleCommand("/delete yes")
	}
	return s.conv.run(func(ctx context.Context) (tea.Msg, error) {
		if err := s.conv.Delete(ctx, k.ID); err != nil {
			return nil, about("delete the session", err)
		}
		return s.conv.readSessions("")(), nil
	})
}
