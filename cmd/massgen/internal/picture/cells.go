package picture

import (
	"strings"
	"unicode"

	"github.com/massgen/massgen/internal/system/plain"
)

// cells returns how many columns of a terminal a text needs: none for a character that joins the one
// before it, two for wide ones of East Asia and emoji.
func cells(text string) (n int) {
	for _, r := range text {
		n += cellsOf(r)
	}
	return n
}

func cellsOf(r rune) int {
	switch {
	case unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf):
		return 0
	case r >= 0x1100 && isWide(r):
		return 2
	}
	return 1
}

func isWide(r rune) bool {
	switch {
	case r <= 0x115f, r >= 0x2e80 && r <= 0x303e, r >= 0x3041 && r <= 0x4dbf, r >= 0x4e00 && r <= 0xa4cf,
		r >= 0xa960 && r <= 0xa97c, r >= 0xac00 && r <= 0xd7a3, r >= 0xf900 && r <= 0xfaff, r >= 0xfe30 && r <= 0xfe6f,
		r >= 0xff01 && r <= 0xff60, r >= 0xffe0 && r <= 0xffe6, r >= 0x1f300 && r <= 0x1f64f, r >= 0x1f680 && r <= 0x1f6ff,
		r >= 0x1f900 && r <= 0x1faff, r >= 0x20000 && r <= 0x3fffd:
		return true
	}
	return false
}

// fit cuts a line to a width, with … where it was cut.
func fit(line string, width int) string {
	if cells(line) <= width {
		return line
	}
	used := 0
	for i, r := range line {
		if used+cellsOf(r) > width-1 {
			return strings.TrimRight(line[:i], " ") + "…"
		}
		used += cellsOf(r)
	}
	return line
}

// padded fills a cell with blanks to a width, or cuts it.
func padded(cell string, width int) string {
	cell = fit(cell, width)
	return cell + strings.Repeat(" ", max(0, width-cells(cell)))
}

// wrap breaks a text into lines of a width, and cuts it after most lines.
func wrap(text string, width, most int) (lines []string) {
	line := ""
	const longest = 4 // characters a column, some of which join others
	text = plain.Cut(strings.Join(strings.Fields(plain.Line(text)), " "), longest*width*(most+1))
	for _, word := range strings.Fields(text) {
		for {
			joined := strings.TrimLeft(line+" "+word, " ")
			if cells(joined) <= width {
				line = joined
				break
			}
			if line == "" { // a word that is wider than a line
				head := head(word, width)
				lines, word = append(lines, head), word[len(head):]
				continue
			}
			lines, line = append(lines, line), ""
		}
	}
	if line != "" {
		lines = append(lines, line)
	}
	if len(lines) > most {
		lines = lines[:most]
		lines[most-1] = fit(lines[most-1]+" …", width)
	}
	return lines
}

// head returns the part of a word that has room in a width, at least one character.
func head(word string, width int) string {
	used := 0
	for i, r := range word {
		if used += cellsOf(r); used > width && i > 0 {
			return word[:i]
		}
	}
	return word
}
