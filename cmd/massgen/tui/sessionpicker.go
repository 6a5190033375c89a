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

// sessionPicker lets a person choose a session by its title or its texts, rename it and delete it.
type sessionPicker struct {
	picker
	kept []Kept
	// next is the place of the next page, "" after the last one. isReading reports whether it is being read.
	next      string
	isReading bool
	conv      client
	// opened is the id of the open session, and command runs a command in it.
	opened  string
	command func(line string) tea.Cmd
}

// newSessionPicker lists sessions on a screen, and searches for a word.
func newSessionPicker(kept []Kept, word string, s *screen) *sessionPicker {
	p := &sessionPicker{conv: s.conv, opened: s.session.ID, command: s.idleCommand}
	p.title, p.word, p.search = "Sessions: Enter opens, Ctrl+R renames, Ctrl+D deletes", word, p.find
	p.choose = func(chosen pick) tea.Cmd {
		if chosen.name == p.opened {
			s.transcript.showTurn(chosen.turn)
			return nil
		}
		cmd := p.command("/session " + chosen.name)
		if cmd != nil { // no turn runs
			s.due.turn = chosen.turn
		}
		return cmd
	}
	p.add(kept)
	return p
}

// add adds a page of sessions at the end.
func (p *sessionPicker) add(kept []Kept) {
	p.kept = append(p.kept, kept...)
	for _, k := range kept {
		p.list = append(p.list, pick{name: k.ID, text: k.Used.Format("2006-01-02 15:04") + "  " + k.Title, right: k.figures()})
	}
}

// readMore reads the next page when the last line is chosen.
func (p *sessionPicker) readMore() tea.Cmd {
	if p.next == "" || p.isReading || p.at < len(p.fit())-1 {
		return nil
	}
	p.isReading = true
	after := p.next
	return p.conv.do(func(ctx context.Context) tea.Msg {
		list, next, err := p.conv.Sessions(ctx, after)
		return moreMsg{p, list, next, err}
	})
}

func (p *sessionPicker) press(msg tea.KeyPressMsg) (overlay, tea.Cmd) {
	if fit := p.fit(); p.at < len(fit) {
		k, ok := p.session(fit[p.at].name)
		switch key := msg.String(); {
		case ok && key == "ctrl+r":
			return &lineEditor{title: "Another title for this session", text: []rune(plain.Line(k.Title)), below: p, take: func(title string) tea.Cmd { return p.rename(k, title) }}, nil
		case ok && (key == "ctrl+d" || key == "delete"):
			return deletion(fmt.Sprintf("%q", plain.Line(k.Title)), k.Turns, func() tea.Cmd { return p.discard(k) }, p), nil
		}
	}
	next, cmd := p.picker.press(msg)
	if next == nil {
		return nil, cmd
	}
	return p, tea.Batch(cmd, p.readMore())
}

// session returns a listed session.
func (p *sessionPicker) session(id string) (k Kept, ok bool) {
	i := slices.IndexFunc(p.kept, func(k Kept) bool { return k.ID == id })
	if i < 0 {
		return Kept{}, false
	}
	return p.kept[i], true
}

// find searches the texts of all sessions.
func (p *sessionPicker) find(by *picker, word string) tea.Cmd {
	const longestTitle = 24
	return p.conv.do(func(ctx context.Context) tea.Msg {
		found, err := p.conv.Search(ctx, word)
		if err != nil {
			return foundMsg{by, word, []pick{{text: "the texts cannot be searched: " + p.conv.Redact(err.Error())}}}
		}
		var picks []pick
		for _, c := range found {
			title := c.ID
			k, isListed := p.session(c.ID)
			if c.Turn == 0 {
				if !isListed { // else the list has the title
					picks = append(picks, pick{name: c.ID, text: c.Text})
				}
				continue
			}
			if isListed {
				title = ansi.Truncate(plain.Line(k.Title), longestTitle, "…")
			}
			picks = append(picks, pick{name: c.ID, text: fmt.Sprintf("%s · turn %d: %s", title, c.Turn, around(c.Text, word)), turn: c.Turn})
		}
		return foundMsg{by, word, picks}
	})
}

// rename gives a session another title, and lists the sessions again.
func (p *sessionPicker) rename(k Kept, title string) tea.Cmd {
	return p.conv.run(func(ctx context.Context) (tea.Msg, error) {
		if err := p.conv.Rename(ctx, k.ID, title); err != nil {
			return nil, about("rename the session", err)
		}
		return tea.BatchMsg{p.conv.readSessions(""), p.conv.readSession}, nil
	})
}

// discard deletes a session, and lists the others. The open one is left for a new session.
func (p *sessionPicker) discard(k Kept) tea.Cmd {
	if k.ID == p.opened {
		return p.command("/delete yes")
	}
	return p.conv.run(func(ctx context.Context) (tea.Msg, error) {
		if err := p.conv.Delete(ctx, k.ID); err != nil {
			return nil, about("delete the session", err)
		}
		return p.conv.readSessionsAt(p.word, p.at)(), nil
	})
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

// showTurn shows the question of a turn, and what follows it.
func (t *transcript) showTurn(turn int) {
	for i, b := range t.blocks {
		if b.kind != asked {
			continue
		}
		if turn--; turn == 0 {
			t.at.from(i)
			return
		}
	}
}
