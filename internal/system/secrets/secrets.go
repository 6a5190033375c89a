// Package secrets finds the secrets of addresses and headers, and masks secrets in texts, also in
// the forms in which services repeat them: with the escapes of JSON, URLs or HTML, in base64 and in
// hexadecimal digits.
package secrets

import (
	"cmp"
	"encoding/base64"
	"encoding/hex"
	"regexp"
	"slices"
	"strings"
)

// Mask replaces a secret.
const Mask = "***"

// shortest is the length, in bytes, of the shortest secret that is masked everywhere. A shorter
// one may be a part of many words.
const shortest = 8

// placeholders matches what people give as a key where a service needs none. These words occur in
// answers and are no secrets.
var placeholders = regexp.MustCompile(`(?i)^(lm[-_ ]?studio|ollama|llama[-_.]?cpp|vllm|sglang|localhost|local|none|null|empty|no[-_ ]?key|` +
	`not[-_ ]?(needed|required|used|set|a[-_ ]?(real[-_ ]?)?key)|(sk-)?no[-_ ]?key[-_ ](required|needed)|` +
	`dummy([-_ ]?(api)?[-_ ]?key)?|fake([-_ ]?(api)?[-_ ]?key)?|placeholder|anything|whatever|changeme|unused|test[-_ ]?key)$`)

// IsShort reports whether a text is a secret that Mask hides only where it stands as a credential.
// An empty text and a placeholder such as ollama are no secrets.
func IsShort(text string) bool {
	text = strings.TrimSpace(text)
	return text != "" && len(text) < shortest && !placeholders.MatchString(text)
}

// Finder finds secrets in texts. The zero value has no secrets. It may be used concurrently, except
// for Add.
type Finder struct {
	words []string // secrets, their encodings, and both without escapes
	short []string // secrets that are masked only where they stand as credentials
}

// Add adds secrets, without the white space around them, which is never sent. It ignores empty
// texts and placeholders.
func (f *Finder) Add(texts ...string) {
	words, short := slices.Clone(f.words), slices.Clone(f.short) // a copy of the finder may share them
	for _, text := range texts {
		text = strings.TrimSpace(text)
		if text == "" || placeholders.MatchString(text) {
			continue
		}
		words = append(words, encodings(text)...)
		bare := withoutEscapes(text) // as find sees the secret where it is escaped
		// A query has + for the secret's own blanks, but none for a blank that the secret escapes.
		query := withoutEscapes(strings.ReplaceAll(text, " ", "+"))
		for _, form := range []string{text, bare, withoutBegunEscape(bare), strings.ReplaceAll(bare, " ", "+"), query, withoutBegunEscape(query)} {
			switch {
			case len(form) >= shortest:
				words = append(words, form)
			case form != "":
				short = append(short, form)
			}
		}
	}
	slices.Sort(words)
	slices.Sort(short)
	f.words, f.short = slices.Compact(words), slices.Compact(short)
}

// encodings returns a text in hexadecimal digits, and in base64, alone and as a part of something
// longer. Very short ones are left out, since they could mean something else.
func encodings(text string) []string {
	digits := hex.EncodeToString([]byte(text))
	all := []string{digits, strings.ToUpper(digits)}
	for _, alphabet := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		all = append(all, alphabet.EncodeToString([]byte(text)))
		for before := range 3 {
			encoded := alphabet.EncodeToString(append(make([]byte, before), text...))
			// The digits at both ends depend on the neighbours of the text too.
			begin, end := []int{0, 2, 3}[before], len(encoded)
			if (before+len(text))%3 != 0 {
				end--
			}
			all = append(all, encoded[min(begin, end):end])
		}
	}
	return slices.DeleteFunc(all, func(encoded string) bool { return len(encoded) < shortest })
}

// place is a part of a text.
type place struct{ from, to int }

// Mask replaces each secret by "***", and leaves every other byte as it is. It finds a secret as it
// is, with the escapes of JSON, URLs or HTML, also of one within the other, in base64 and in
// hexadecimal digits. It masks a secret of fewer than 8 bytes only where it stands as a credential:
// behind a name such as api_key or Authorization, in the query of a URL, or as its user or password.
// It does not find a part of a secret. Its time is linear in the length of the text.
func (f *Finder) Mask(text string) string {
	if len(f.words)+len(f.short) == 0 {
		return text
	}
	found := f.find(text, mostLevels)
	if len(found) == 0 {
		return text
	}
	slices.SortFunc(found, func(a, b place) int { return cmp.Compare(a.from, b.from) })
	var b strings.Builder
	end := 0
	for _, p := range found {
		if p.from >= end {
			b.WriteString(text[end:p.from])
			b.WriteString(Mask)
		}
		end = max(end, p.to)
	}
	b.WriteString(text[end:])
	return b.String()
}

// mostLevels limits how often a text is unescaped, since it may have been escaped more than once.
const mostLevels = 6

// find returns the places of secrets in a text, and in what it is after up to so many unescapings.
func (f *Finder) find(text string, levels int) (found []place) {
	for _, word := range f.words {
		found = append(found, places(text, word)...)
	}
	for _, word := range f.short {
		for _, p := range places(text, word) {
			if isCredential(text[:p.from], text[p.to:]) {
				found = append(found, p)
			}
		}
	}
	bare := unescape(text)
	if levels == 0 || bare == text {
		return found
	}
	inside := f.find(bare, levels-1)
	if len(inside) == 0 {
		return found
	}
	at := offsets(text)
	for _, p := range inside {
		found = append(found, place{at[p.from], at[p.to]})
	}
	return found
}

// places returns where a word stands in a text.
func places(text, word string) (found []place) {
	for from := 0; ; {
		at := strings.Index(text[from:], word)
		if at < 0 {
			return found
		}
		from += at + len(word)
		found = append(found, place{from - len(word), from})
	}
}
