package tui

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	tea "charm.land/bubbletea/v2"
	"github.com/atotto/clipboard"

	"github.com/massgen/massgen/internal/models/attach"
	"github.com/massgen/massgen/internal/system/plain"
)

// entry is the area for typing several lines, with the history of earlier lines.
type entry struct {
	area area
	// past are the earlier lines, oldest first. at is the shown one, len(past) for none. draft is the
	// text that a line of past has replaced.
	past  []string
	at    int
	draft string
	// pastes are the long pasted texts, which the area shows as marks.
	pastes []paste
	// context is the output of commands that goes with the next question.
	context string
	// isShell reports whether the first letter is a typed !, and not a pasted one.
	isShell bool
}

type paste struct{ mark, text string }

// entryLines is the height of the entry. A pasted text of longPaste lines or largePaste bytes becomes a
// mark, and so does any text of largeText bytes.
const (
	entryLines = 8
	longPaste  = 8
	largePaste = 4 << 10
	largeText  = 16 << 10
)

func newEntry(past []string) *entry {
	return &entry{area: newArea("Ask a question (? keys, / commands)", entryLines), past: past, at: len(past)}
}

func (e *entry) isEmpty() bool { return e.area.isEmpty() }

// text returns the typed text, with the pasted texts in place of their marks.
func (e *entry) text() string {
	var marks []string
	for _, p := range e.pastes {
		marks = append(marks, p.mark, p.text)
	}
	return strings.NewReplacer(marks...).Replace(e.area.Value())
}

// take returns the typed text, and clears the entry.
func (e *entry) take() string {
	text := e.text()
	if strings.TrimSpace(text) != "" && (len(e.past) == 0 || e.past[len(e.past)-1] != text) {
		e.past = append(e.past, text)
	}
	e.clear()
	return text
}

func (e *entry) clear() {
	e.area.Reset()
	e.at, e.draft, e.pastes, e.isShell = len(e.past), "", nil, false
}

// set shows another text. A very long text becomes a mark.
func (e *entry) set(text string) {
	text = printable(text)
	e.area.Reset()
	e.pastes, e.isShell = nil, false
	if len(text) >= largeText {
		e.insertMark(text)
		return
	}
	e.area.InsertString(text)
}

// paste inserts a text. A long text becomes a mark with the number of its lines.
func (e *entry) paste(text string) {
	e.isShell = e.isShell && !e.isEmpty() // only a typed ! begins a command
	text = strings.ReplaceAll(text, "\r\n", "\n")
	text = printable(strings.ReplaceAll(text, "\r", "\n")) // most terminals end pasted lines by \r
	if linesOf(text) < longPaste && len(text) < largePaste {
		e.area.InsertString(text)
		return
	}
	e.insertMark(text)
}

func linesOf(text string) int { return strings.Count(strings.TrimSuffix(text, "\n"), "\n") + 1 }

// insertMark inserts a text as a mark of its own.
func (e *entry) insertMark(text string) {
	kind := fmt.Sprintf("%d lines", linesOf(text))
	if linesOf(text) == 1 {
		kind = fmt.Sprintf("%d letters", utf8.RuneCountInString(text))
	}
	mark := "[" + kind + "]"
	isTaken := func(p paste) bool { return p.mark == mark }
	for n := 2; slices.ContainsFunc(e.pastes, isTaken) || strings.Contains(e.area.Value(), mark); n++ {
		mark = fmt.Sprintf("[%s, %d]", kind, n)
	}
	e.pastes = append(e.pastes, paste{mark, text})
	e.area.InsertString(mark)
}

// attach inserts the name of a file behind an @. Without a name it inserts the @, which lists the files.
func (e *entry) attach(path string) error {
	path = strings.Trim(strings.TrimPrefix(path, "@"), `"`)
	name := "@" + path
	switch {
	case path == "":
		e.area.InsertString(name)
		return nil
	case !attach.IsFile(path):
		return fmt.Errorf("/attach %s: no such file", plain.Line(path))
	case strings.Contains(path, " "):
		name = `@"` + path + `"`
	}
	e.area.InsertString(name + " ")
	return nil
}

// press takes a key.
func (e *entry) press(msg tea.KeyPressMsg) tea.Cmd {
	if e.isEmpty() {
		e.isShell = msg.Text == "!"
	}
	if msg.String() == "ctrl+v" {
		return readClipboard
	}
	e.area.press(msg)
	return nil
}

// readClipboard pastes the text that the system's clipboard has.
func readClipboard() tea.Msg {
	text, err := clipboard.ReadAll()
	if err != nil {
		return errorNote{about("paste", err)}
	}
	return tea.PasteMsg{Content: text}
}

// older shows the earlier line, if the cursor is in the first row.
func (e *entry) older() bool {
	if !e.area.isInFirstRow() || e.at == 0 {
		return false
	}
	if e.at == len(e.past) {
		e.draft = e.text()
	}
	at := e.at - 1
	e.set(e.past[at])
	e.at = at
	return true
}

// newer shows the later line, if the cursor is in the last row.
func (e *entry) newer() bool {
	if !e.area.isInLastRow() || e.at >= len(e.past) {
		return false
	}
	at := e.at + 1
	if at == len(e.past) {
		e.set(e.draft)
	} else {
		e.set(e.past[at])
	}
	e.at = at
	return true
}

// complete completes the word before the cursor with one of the names. If several names begin with the
// word, it returns them.
func (e *entry) complete(names []string) []string {
	value := e.area.Value()
	word := value[strings.LastIndexAny(value, " \n")+1:]
	if word == "" {
		return nil
	}
	var fit []string
	for _, name := range names {
		if strings.HasPrefix(name, word) {
			fit = append(fit, name)
		}
	}
	if len(fit) == 0 {
		return nil
	}
	common := commonStart(fit)
	if len(fit) == 1 {
		common += " "
	}
	e.area.InsertString(strings.TrimPrefix(common, word))
	if len(fit) == 1 {
		return nil
	}
	return fit
}

// commonStart returns the common beginning of names, in whole letters.
func commonStart(names []string) string {
	common := names[0]
	for _, name := range names[1:] {
		for !strings.HasPrefix(name, common) {
			_, last := utf8.DecodeLastRuneInString(common)
			common = common[:len(common)-last]
		}
	}
	return common
}
