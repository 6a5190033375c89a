package tui

import (
	"slices"
	"unicode"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
)

// areaLine is a line of an area. rows has the byte at which each of its rows on the screen begins; the first is 0.
type areaLine struct {
	text string
	rows []int
}

func newAreaLine(text string, width int) areaLine {
	l := areaLine{text: text}
	l.wrap(0, 0, 0, width)
	return l
}

// replace replaces a part of the text, from a byte to another. It returns how many rows it has laid out.
func (l *areaLine) replace(from, to int, by string, width int) (laid int) {
	l.text = l.text[:from] + by + l.text[to:]
	return l.wrap(from, to, len(by)-(to-from), width)
}

// wrap lays out the rows after a change between two bytes, which moved the text behind them. It begins two rows
// earlier, because a word may move up, and ends at a row that begins where it began before. It returns how many rows it
// has laid out.
func (l *areaLine) wrap(from, to, moved, width int) (laid int) {
	const earlier = 2
	old := l.rows
	keep := 0
	if len(old) > 0 {
		keep = max(l.rowAt(from)-earlier, 0)
	} else {
		old = []int{0}
	}
	rows := slices.Clone(old[:keep+1])
	rest := old[keep+1:]
	for start := rows[keep]; ; {
		laid++
		if start = rowEnd(l.text, start, width); start >= len(l.text) {
			break
		}
		for len(rest) > 0 && (rest[0] <= to || rest[0]+moved < start) {
			rest = rest[1:]
		}
		if len(rest) > 0 && rest[0]+moved == start {
			for _, at := range rest {
				rows = append(rows, at+moved)
			}
			break
		}
		rows = append(rows, start)
	}
	l.rows = rows
	return laid
}

// rowAt returns the row that has a byte.
func (l *areaLine) rowAt(at int) int {
	row, isStart := slices.BinarySearch(l.rows, at)
	if isStart {
		return row
	}
	return row - 1
}

// span returns the bytes of a row.
func (l *areaLine) span(row int) (start, end int) {
	if row == len(l.rows)-1 {
		return l.rows[row], len(l.text)
	}
	return l.rows[row], l.rows[row+1]
}

// letterBefore returns the first byte of the letter that ends at a byte.
func (l *areaLine) letterBefore(end int) int {
	at, _ := l.span(max(l.rowAt(end-1), 0))
	for {
		n, _ := letterOf(l.text[at:])
		if at+n >= end {
			return at
		}
		at += n
	}
}

// rowEnd returns the byte at which the row after another begins. A row ends behind a blank if it has one. One blank may
// stand behind its last column.
func rowEnd(text string, start, width int) int {
	columns, afterBlank := 0, start
	for at := start; at < len(text); {
		n, letter := letterOf(text[at:])
		isBlank := text[at] == ' '
		if columns += letter; at > start && columns > width && (!isBlank || columns > width+1) {
			if afterBlank > start {
				return afterBlank
			}
			return at
		}
		if at += n; isBlank {
			afterBlank = at
		}
	}
	return len(text)
}

// letterOf returns the bytes and the columns of the first letter of a text, with its accents.
func letterOf(text string) (bytes, columns int) {
	_, columns, bytes, _ = ansi.DecodeSequence(text, ansi.NormalState, nil)
	for bytes = max(bytes, 1); bytes < len(text) && text[bytes] >= utf8.RuneSelf; { // DecodeSequence leaves accents behind an ASCII letter
		r, n := utf8.DecodeRuneInString(text[bytes:])
		if !unicode.In(r, unicode.Mn, unicode.Me) {
			break
		}
		bytes += n
	}
	return bytes, columns
}
