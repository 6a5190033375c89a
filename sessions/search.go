package sessions

import (
	"slices"
	"strings"
	"unicode"
)

// Query is a list of phrases. A hit has all of them.
type Query []phrase

// phrase is the text between two spaces of a query: words that must stand side by side.
type phrase struct {
	Words []string
	// Prefix reports whether the last word may continue.
	Prefix bool
}

// ParseQuery parses a person's search query. It accepts any text: words are letters and digits
// in any case, and everything else parts them. A star at the end of a word stands for the rest
// of it.
func ParseQuery(text string) Query {
	var q Query
	for _, field := range strings.Fields(text) {
		if words := wordsOf(field); len(words) > 0 {
			q = append(q, phrase{Words: words, Prefix: strings.HasSuffix(field, "*")})
		}
	}
	return q
}

func wordsOf(text string) []string {
	return strings.FieldsFunc(strings.ToLower(text), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsNumber(r) && !unicode.Is(unicode.Co, r) && !unicode.Is(unicode.M, r)
	})
}

// Finds reports whether all phrases of the query are in the texts, each in one of them. An empty
// query finds nothing.
func (q Query) Finds(texts ...string) bool {
	for _, p := range q {
		if !slices.ContainsFunc(texts, func(text string) bool { return p.in(wordsOf(text)) }) {
			return false
		}
	}
	return len(q) > 0
}

func (p phrase) in(words []string) bool {
	last := len(p.Words) - 1
	for i := 0; i+last < len(words); i++ {
		if slices.Equal(words[i:i+last], p.Words[:last]) &&
			(words[i+last] == p.Words[last] || p.Prefix && strings.HasPrefix(words[i+last], p.Words[last])) {
			return true
		}
	}
	return false
}
