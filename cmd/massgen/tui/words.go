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

// quotedWords joins the words of a command, those with blanks in quotes.
func quotedWords(words []string) string {
	shown := slices.Clone(words)
	for i, w := range shown {
		if w == "" || strings.ContainsAny(w, " \t\n\"'\\$&|;<>*?()") {
			shown[i] = strconv.Quote(w)
		}
	}
	return strings.Join(shown, " ")
}

// The most bytes of a letter with its accents, which are far more than any has that people write,
// and the most per column of a line that need no look at its letters.
const (
	longestLetter  = 64
	bytesOfColumns = 8
)

// fitted is a line of at most so many columns, in which no letter has so many accents that a terminal
// is kept busy drawing it.
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
		if letter[0] == ansi.ESC { // a colour of the screen's own
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
