package postgres

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/massgen/massgen/sessions"
)

// What PostgreSQL can keep of words (its documentation, "Limitations" of full text
// search): it drops words longer than mostWord, and places after lastPlace. Of a longer
// text massgen indexes the first words.
const (
	mostWord   = 2046    // bytes
	mostVector = 1000000 // bytes, of 1 MiB
	mostPlaces = 255     // of one word
	lastPlace  = 16383
)

// vector returns the words of texts as a tsvector, in which each text has its share of
// the bytes and the places. PostgreSQL's own parser would take other things for words
// than sessions.ParseQuery does, and so find other texts than the other stores. Words
// of two texts are never side by side.
func vector(texts ...string) string {
	v := words{places: map[string][]int{}}
	for i, text := range texts {
		v.add(text, mostVector/len(texts), lastPlace/len(texts)*i+1, lastPlace/len(texts)*(i+1))
	}
	var b strings.Builder
	for _, word := range v.order {
		// Words have letters and digits only, so they need no escaping.
		fmt.Fprintf(&b, "'%s'", word)
		for i, place := range v.places[word] {
			fmt.Fprintf(&b, "%c%d", ":,"[min(i, 1)], place)
		}
		b.WriteByte(' ')
	}
	return b.String()
}

// words are distinct words, in the order in which they came, and where each stands.
type words struct {
	order  []string
	places map[string][]int
}

// add adds the words of a text: so many bytes at most, and at places from the first to
// before the last.
func (v *words) add(text string, most, first, last int) {
	const perWord, perPlace = 4, 2 // bytes that PostgreSQL adds
	place := first
	for _, phrase := range sessions.ParseQuery(text) {
		for _, word := range phrase.Words {
			found, known := v.places[word]
			if !known {
				if len(word) > mostWord || len(word)+perWord > most {
					place++
					continue
				}
				most -= len(word) + perWord
				v.order = append(v.order, word)
				v.places[word] = nil
			}
			if place < last && len(found) < mostPlaces && most > perPlace {
				v.places[word] = append(found, place)
				most -= perPlace
			}
			place++
		}
	}
}

// match returns a query as a tsquery, "" if it can find nothing.
func match(q sessions.Query) string {
	phrases := make([]string, len(q))
	for i, p := range q {
		words := make([]string, len(p.Words))
		for j, word := range p.Words {
			if len(word) > mostWord {
				return ""
			}
			words[j] = "'" + word + "'"
		}
		phrases[i] = strings.Join(words, " <-> ")
		if p.Prefix {
			phrases[i] += ":*"
		}
	}
	return strings.Join(phrases, " & ")
}

// snippetBytes is about how much of a text a hit shows on either side of a word.
const snippetBytes = 80

// snippet returns the text around a word, from the first of the texts that has it, or
// the beginning of the first text.
func snippet(word string, texts ...string) string {
	text, at := texts[0], 0
	for _, candidate := range texts {
		// Where lower case has another length, places in it are none in the text.
		if lower := strings.ToLower(candidate); len(lower) == len(candidate) {
			if found := strings.Index(lower, word); found >= 0 {
				text, at = candidate, found
				break
			}
		}
	}
	from, to := boundary(text, at-snippetBytes), boundary(text, at+len(word)+snippetBytes)
	cut := strings.Join(strings.Fields(text[from:to]), " ")
	if from > 0 {
		cut = "…" + cut
	}
	if to < len(text) {
		cut += "…"
	}
	return cut
}

// boundary returns the place of a character of text, at or before i, within the text.
func boundary(text string, i int) int {
	i = max(0, min(i, len(text)))
	for i > 0 && i < len(text) && !utf8.RuneStart(text[i]) {
		i--
	}
	return i
}
