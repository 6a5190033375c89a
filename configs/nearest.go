package configs

import (
	"strings"
	"unicode/utf8"
)

// Nearest returns the name that is fewest edits away from word, if any is near
// enough to be what was meant: one edit in each three letters; else the first
// name that word is the beginning of. The first of equals wins.
func Nearest(word string, names []string) (string, bool) {
	length := utf8.RuneCountInString(word)
	if length > 64 {
		return "", false
	}
	best, least := "", length/3+1
	for _, name := range names {
		if d := edits(word, name); d < least || best == "" && d == least {
			best, least = name, d
		}
	}
	const shortestBeginning = 4
	for _, name := range names {
		if best == "" && length >= shortestBeginning && strings.HasPrefix(name, word) {
			best = name
		}
	}
	return best, best != ""
}

// edits is the number of letters to insert, delete, replace or swap with their
// neighbour to make b of a.
func edits(a, b string) int {
	x, y := []rune(a), []rune(b)
	rows := make([][]int, len(x)+1)
	for i := range rows {
		rows[i] = make([]int, len(y)+1)
		rows[i][0] = i
	}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(x); i++ {
		for j := 1; j <= len(y); j++ {
			replace := 1
			if x[i-1] == y[j-1] {
				replace = 0
			}
			rows[i][j] = min(rows[i-1][j]+1, rows[i][j-1]+1, rows[i-1][j-1]+replace)
			if i > 1 && j > 1 && x[i-1] == y[j-2] && x[i-2] == y[j-1] {
				rows[i][j] = min(rows[i][j], rows[i-2][j-2]+1)
			}
		}
	}
	return rows[len(x)][len(y)]
}
