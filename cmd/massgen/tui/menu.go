package tui

import (
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"github.com/massgen/massgen/internal/system/plain"
)

// menu lists what fits the typed word: commands behind a /, files behind an @.
type menu struct {
	entry    *entry
	commands []Choice
	typed    string // the word that the list was made for
	list     []Choice
	at       int
	isMoved  bool // the person has chosen a line
	isClosed bool // by Esc, until another word is begun
}

// mostMenu is the most lines of a menu.
const mostMenu = 8

// follow makes the list for what is typed now.
func (m *menu) follow() {
	word := m.word()
	if word == m.typed {
		return
	}
	if word == "" {
		m.isClosed = false
	}
	m.typed, m.at, m.isMoved, m.list = word, 0, false, nil
	switch {
	case word == "" || m.isClosed:
	case word[0] == '/':
		m.list = commandsLike(m.commands, word)
	default:
		for _, name := range filesLike(word) {
			m.list = append(m.list, Choice{Name: name})
		}
	}
	if len(m.list) == 1 && m.list[0].Name == word && word[0] == '@' {
		m.list = nil // it is typed in full
	}
}

// word returns the typed command or @file that the cursor stands behind, "" for another word.
func (m *menu) word() string {
	a := &m.entry.area
	if !a.isAtEnd() {
		return ""
	}
	line := a.lines[a.row].text
	if word := line[strings.LastIndexByte(line, ' ')+1:]; strings.HasPrefix(word, "@") {
		return word
	}
	if path, ok := strings.CutPrefix(line, attachPrefix); ok && len(a.lines) == 1 && !strings.Contains(path, " ") {
		return "@" + path
	}
	if len(a.lines) == 1 && isCommand(line) && !strings.Contains(line, " ") {
		return line
	}
	return ""
}

// attachPrefix begins a line that names a file without an @.
const attachPrefix = "/attach "

// commandsLike returns the commands whose names begin with a word, and then those that have it in their names or
// meanings.
func commandsLike(commands []Choice, word string) (fit []Choice) {
	begins := func(c Choice) bool { return strings.HasPrefix(c.Name, strings.ToLower(word)) }
	for _, c := range commands {
		if begins(c) {
			fit = append(fit, c)
		}
	}
	slices.SortStableFunc(fit, func(a, b Choice) int { // the whole name before a longer one
		switch {
		case a.Name == word && b.Name != word:
			return -1
		case b.Name == word && a.Name != word:
			return 1
		}
		return 0
	})
	part := strings.ToLower(strings.TrimPrefix(word, "/"))
	const least = 3 // letters, or everything fits
	for _, c := range commands {
		if len(part) >= least && !begins(c) && strings.Contains(strings.ToLower(c.Name+" "+c.About), part) {
			fit = append(fit, c)
		}
	}
	return fit
}

// isOpen reports whether the menu lists something.
func (m *menu) isOpen() bool { return len(m.list) > 0 }

// close closes the menu until another word is begun.
func (m *menu) close() { m.list, m.isClosed = nil, true }

// press takes a key. taken is false for a key that the menu does not know. submits reports whether the line is now a whole
// command, to be run at once.
func (m *menu) press(key string) (taken, submits bool) {
	switch key {
	case "up", "ctrl+p":
		m.at, m.isMoved = max(m.at-1, 0), true
	case "down":
		m.at, m.isMoved = min(m.at+1, len(m.list)-1), true
	case "tab":
		m.take()
	case "esc":
		m.close()
		if m.typed == "/" {
			m.entry.clear()
		}
	case "enter":
		name := m.list[m.at].Name
		if !m.isMoved && !strings.HasPrefix(name, m.typed) || name == m.typed {
			return false, false
		}
		m.take()
		return true, name[0] == '/' && !needsWords(name)
	default:
		return false, false
	}
	return true, false
}

// take puts the chosen line in place of the typed word.
func (m *menu) take() {
	name := m.list[m.at].Name
	a := &m.entry.area
	typed := m.typed
	if !strings.HasSuffix(a.lines[a.row].text, typed) { // behind /attach
		typed, name = typed[1:], name[1:]
	}
	a.remove(a.row, a.col-len(typed), a.row, a.col)
	if !strings.HasSuffix(name, "/") { // the files of a folder follow
		name += " "
	}
	a.InsertString(name)
}

// lines draws the menu, the chosen line among those around it.
func (m *menu) lines(width, height int) (lines []string) {
	height = min(height, mostMenu)
	names := 0
	for _, c := range m.list {
		names = max(names, ansi.StringWidth(plain.Line(c.Name)))
	}
	names = min(names, max(width/2, 1))
	first := max(min(m.at-height/2, len(m.list)-height), 0)
	for i := first; i < min(first+height, len(m.list)); i++ {
		c := m.list[i]
		line := ansi.Truncate(padded(ansi.Truncate("  "+plain.Line(c.Name), names+2, "…"), names+2)+"  "+plain.Line(c.About), width, "…")
		if i == m.at {
			line = chosen(padded(line, width))
		}
		lines = append(lines, line)
	}
	return lines
}
