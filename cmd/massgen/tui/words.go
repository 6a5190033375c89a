package tui

import (
	"maps"
	"slices"
	"strconv"
	"strings"
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
