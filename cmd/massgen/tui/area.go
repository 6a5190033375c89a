package tui

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
)

// area is a text of several lines that a person edits. A key lays out only the rows around the cursor, and draws only
// the shown ones, so it costs the same in a short and in a long text.
type area struct {
	placeholder string
	most        int // rows
	columns     int // of the screen
	lines       []areaLine
	row, col    int // of the cursor: a line, and a byte of its text
	goal        int // the column of the screen that Up and Down keep, -1 without one
	top         int // the first shown row
}

// areaPrompt begins each row of an area.
const areaPrompt = "> "

func newArea(placeholder string, most int) area {
	return area{placeholder: placeholder, most: most, columns: 80, lines: []areaLine{newAreaLine("", 1)}, goal: -1}
}

// width returns the columns of a row's text. The column behind it is for the cursor.
func (a *area) width() int { return max(a.columns-len(areaPrompt)-1, 1) }

func (a *area) isEmpty() bool { return len(a.lines) == 1 && a.lines[0].text == "" }

// Value returns the text.
func (a *area) Value() string {
	if len(a.lines) == 1 {
		return a.lines[0].text
	}
	texts := make([]string, len(a.lines))
	for i, l := range a.lines {
		texts[i] = l.text
	}
	return strings.Join(texts, "\n")
}

// Reset drops the text.
func (a *area) Reset() {
	a.lines, a.row, a.col, a.goal, a.top = []areaLine{newAreaLine("", a.width())}, 0, 0, -1, 0
}

// SetWidth sets the number of columns, with the prompt.
func (a *area) SetWidth(columns int) {
	if a.columns == columns {
		return
	}
	a.columns = columns
	for i := range a.lines {
		a.lines[i] = newAreaLine(a.lines[i].text, a.width())
	}
	a.settle()
}

// InsertString inserts a text at the cursor.
func (a *area) InsertString(text string) {
	before, after := a.lines[a.row].text[:a.col], a.lines[a.row].text[a.col:]
	parts := strings.Split(text, "\n")
	last := len(parts) - 1
	if last == 0 {
		a.lines[a.row].replace(a.col, a.col, text, a.width())
		a.move(a.row, a.col+len(text))
		return
	}
	added := []areaLine{newAreaLine(before+parts[0], a.width())}
	for _, part := range parts[1:last] {
		added = append(added, newAreaLine(part, a.width()))
	}
	added = append(added, newAreaLine(parts[last]+after, a.width()))
	a.lines = slices.Replace(a.lines, a.row, a.row+1, added...)
	a.move(a.row+last, len(parts[last]))
}

// remove removes the text between two places of the cursor, the earlier one first, where the cursor then stands.
func (a *area) remove(row, col, endRow, endCol int) {
	if row == endRow {
		a.lines[row].replace(col, endCol, "", a.width())
	} else {
		joined := newAreaLine(a.lines[row].text[:col]+a.lines[endRow].text[endCol:], a.width())
		a.lines = slices.Replace(a.lines, row, endRow+1, joined)
	}
	a.move(row, col)
}

// move moves the cursor.
func (a *area) move(row, col int) {
	a.row, a.col, a.goal = row, col, -1
	a.settle()
}

// MoveToEnd moves the cursor behind the text.
func (a *area) MoveToEnd() {
	last := len(a.lines) - 1
	a.move(last, len(a.lines[last].text))
}

// isAtEnd reports whether the cursor stands behind the text.
func (a *area) isAtEnd() bool {
	return a.row == len(a.lines)-1 && a.col == len(a.lines[a.row].text)
}

// isInFirstRow reports whether the cursor is in the first row of the screen that the text has, isInLastRow whether it
// is in the last one.
func (a *area) isInFirstRow() bool { return a.row == 0 && a.lines[0].rowAt(a.col) == 0 }
func (a *area) isInLastRow() bool {
	l := a.lines[a.row]
	return a.row == len(a.lines)-1 && l.rowAt(a.col) == len(l.rows)-1
}

// editOf returns the edit of a key, by the names of bubbletea, nil for another key.
func editOf(key string) func(a *area) {
	switch key {
	case "left", "ctrl+b":
		return (*area).left
	case "right":
		return (*area).right
	case "up", "ctrl+p":
		return (*area).up
	case "down":
		return (*area).down
	case "home", "ctrl+a":
		return (*area).home
	case "end", "ctrl+e":
		return (*area).end
	case "ctrl+left", "alt+left", "alt+b":
		return (*area).wordLeft
	case "ctrl+right", "alt+right", "alt+f":
		return (*area).wordRight
	case "ctrl+home", "alt+<":
		return (*area).moveToStart
	case "ctrl+end", "alt+>":
		return (*area).MoveToEnd
	case "backspace", "shift+backspace", "ctrl+h":
		return backwards((*area).left)
	case "delete", "ctrl+d":
		return forwards((*area).right)
	case "ctrl+w", "alt+backspace", "ctrl+backspace":
		return backwards((*area).wordLeft)
	case "alt+d", "alt+delete", "ctrl+delete":
		return forwards((*area).wordRight)
	case "ctrl+k":
		return (*area).removeRest
	case "ctrl+j", "alt+enter", "shift+enter":
		return (*area).breakLine
	}
	return nil
}

// press takes a key.
func (a *area) press(msg tea.KeyPressMsg) {
	if msg.Text != "" {
		a.InsertString(printable(msg.Text))
	} else if edit := editOf(msg.Keystroke()); edit != nil {
		edit(a)
	}
}

// backwards returns an edit that removes what the cursor passes when it moves back, and forwards what it passes when it moves on.
func backwards(move func(a *area)) func(a *area) {
	return func(a *area) {
		row, col := a.row, a.col
		move(a)
		a.remove(a.row, a.col, row, col)
	}
}

func forwards(move func(a *area)) func(a *area) {
	return func(a *area) {
		row, col := a.row, a.col
		move(a)
		a.remove(row, col, a.row, a.col)
	}
}

func (a *area) moveToStart() { a.move(0, 0) }
func (a *area) breakLine()   { a.InsertString("\n") }
func (a *area) home()        { a.move(a.row, 0) }
func (a *area) end()         { a.move(a.row, len(a.lines[a.row].text)) }

func (a *area) removeRest() {
	if a.col == len(a.lines[a.row].text) {
		forwards((*area).right)(a)
		return
	}
	forwards((*area).end)(a)
}

func (a *area) left() {
	switch {
	case a.col > 0:
		a.move(a.row, a.lines[a.row].letterBefore(a.col))
	case a.row > 0:
		a.move(a.row-1, len(a.lines[a.row-1].text))
	}
}

func (a *area) right() {
	switch text := a.lines[a.row].text; {
	case a.col < len(text):
		n, _ := letterOf(text[a.col:])
		a.move(a.row, a.col+n)
	case a.row < len(a.lines)-1:
		a.move(a.row+1, 0)
	}
}

func (a *area) wordLeft() {
	if a.col == 0 {
		a.left()
		return
	}
	text := strings.TrimRightFunc(a.lines[a.row].text[:a.col], unicode.IsSpace)
	at := strings.LastIndexFunc(text, unicode.IsSpace)
	if at >= 0 {
		_, n := utf8.DecodeRuneInString(text[at:])
		at += n
	}
	a.move(a.row, max(at, 0))
}

func (a *area) wordRight() {
	text := a.lines[a.row].text
	if a.col == len(text) {
		a.right()
		return
	}
	rest := strings.TrimLeftFunc(text[a.col:], unicode.IsSpace)
	end := strings.IndexFunc(rest, unicode.IsSpace)
	if end < 0 {
		end = len(rest)
	}
	a.move(a.row, len(text)-len(rest)+end)
}

// up moves the cursor to the row above, and down to the row below, if there is one.
func (a *area) up() {
	switch row := a.lines[a.row].rowAt(a.col); {
	case row > 0:
		a.toRow(a.row, row-1)
	case a.row > 0:
		a.toRow(a.row-1, len(a.lines[a.row-1].rows)-1)
	}
}

func (a *area) down() {
	l := a.lines[a.row]
	switch row := l.rowAt(a.col); {
	case row < len(l.rows)-1:
		a.toRow(a.row, row+1)
	case a.row < len(a.lines)-1:
		a.toRow(a.row+1, 0)
	}
}

// toRow moves the cursor to a row of a line, in the column that it came from.
func (a *area) toRow(line, row int) {
	goal := a.goal
	if goal < 0 {
		goal = a.cursorColumn()
	}
	l := a.lines[line]
	at, end := l.span(row)
	for column := 0; at < end; {
		n, width := letterOf(l.text[at:])
		if column += width; column > goal || at+n == end && row < len(l.rows)-1 { // the end of a row is the start of the next one
			break
		}
		at += n
	}
	a.move(line, at)
	a.goal = goal
}

// cursorColumn returns the column of the cursor in its row.
func (a *area) cursorColumn() int {
	l := a.lines[a.row]
	start, _ := l.span(l.rowAt(a.col))
	return ansi.StringWidth(l.text[start:a.col])
}

// total returns the rows of the text, and cursorRow the row of the cursor.
func (a *area) total() (rows int) {
	for i := range a.lines {
		rows += len(a.lines[i].rows)
	}
	return rows
}

func (a *area) cursorRow() (row int) {
	for i := range a.row {
		row += len(a.lines[i].rows)
	}
	return row + a.lines[a.row].rowAt(a.col)
}

// Height returns the number of shown rows.
func (a *area) Height() int { return min(a.total(), a.most) }

// settle scrolls to the cursor.
func (a *area) settle() {
	row, height := a.cursorRow(), a.Height()
	a.top = min(max(a.top, row-height+1), row, max(a.total()-height, 0))
}

// Cursor returns the place of the cursor on the screen.
func (a *area) Cursor() *tea.Cursor {
	return tea.NewCursor(min(len(areaPrompt)+a.cursorColumn(), max(a.columns-1, 0)), a.cursorRow()-a.top)
}

// View draws the shown rows.
func (a *area) View() string {
	if a.isEmpty() {
		return asTitle(areaPrompt) + faint(ansi.Truncate(a.placeholder, a.width(), "…"))
	}
	var rows []string
	skip := a.top
	for _, l := range a.lines {
		if skip >= len(l.rows) {
			skip -= len(l.rows)
			continue
		}
		for row := skip; row < len(l.rows) && len(rows) < a.most; row++ {
			start, end := l.span(row)
			rows = append(rows, asTitle(areaPrompt)+l.text[start:end])
		}
		if skip = 0; len(rows) == a.most {
			break
		}
	}
	return strings.Join(rows, "\n")
}
