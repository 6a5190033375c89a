package tui

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
)

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// quotedWords joins the words of a command, with quotes where needed.
func quotedWords(words []string) string {
	shown := slices.Clone(words)
	for i, w := range shown {
		if w == "" || strings.ContainsAny(w, " \t\n\"'\\$&|;<>*?()") {
			shown[i] = strconv.Quote(w)
		}
	}
	return strings.Join(shown, " ")
}

// longestLetter is the highest size of a letter with its accents, far above real ones. A line with at
// most bytesOfColumns bytes for each column has only short letters.
const (
	longestLetter  = 64
	bytesOfColumns = 8
)

// fitted cuts a line to a width, and drops accents from letters with so many that they slow a terminal
// down.
func fitted(line string, width int) string {
	if ansi.StringWidth(line) > width {
		line = ansi.Truncate(line, width, "")
	}
	if len(line) <= longestLetter+bytesOfColumns*width {
		return line
	}
	var b strings.Builder
	var state byte
	for rest := line; rest != ""; {
		letter, columns, n, next := ansi.DecodeSequence(rest, state, nil)
		rest, state = rest[n:], next
		if letter[0] == ansi.ESC { // one of the screen's colours
			b.WriteString(letter)
			continue
		}
		if columns == 0 {
			continue
		}
		end := min(len(letter), longestLetter)
		for end < len(letter) && !utf8.RuneStart(letter[end]) {
			end--
		}
		b.WriteString(letter[:end])
	}
	return b.String()
}
