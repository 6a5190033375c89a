package secrets

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// escape matches what stands for one character of ASCII, also for a plain one, which no encoder
// has to write so: what hides a key on purpose does. Readers, shells and services decode it: in
// JSON, JavaScript, C, shells (\u0073, \u{73}, \U00000073, \x73, \163), URLs (%73) and HTML
// (&#115; &#x73;), one within the other too.
var escape = regexp.MustCompile(`\\+(?:(?:u00|u\{0*|U0{6}|x)(?P<hex>[0-9A-Fa-f]{1,2})\}?|0?(?P<octal>[0-7]{3}))` +
	`|%(?:25)*(?P<hex>[0-9A-Fa-f]{2})` +
	`|(?:\\*&|\\+u0026)(?:amp;)*#(?:[xX]0*(?P<hex>[0-9A-Fa-f]{1,2})|0*(?P<decimal>[0-9]{1,3}));?`)

// unescaped is a text with characters in place of their escapes.
type unescaped struct {
	text string
	// ends are the places in text after each character that was escaped, and lost how many
	// bytes the original has more than text before that place.
	ends, lost []int
}

// unescape returns a text without its escapes, and false if it has none.
func unescape(text string) (u unescaped, ok bool) {
	if !mayHaveEscapes(text) {
		return u, false
	}
	groups := escape.SubexpNames()
	var b strings.Builder
	from := 0
	for _, m := range escape.FindAllStringSubmatchIndex(text, -1) {
		r := escaped(text, m, groups)
		if r == 0 || r >= utf8.RuneSelf {
			continue
		}
		b.WriteString(text[from:m[0]])
		b.WriteRune(r)
		from = m[1]
		u.ends, u.lost = append(u.ends, b.Len()), append(u.lost, from-b.Len())
	}
	b.WriteString(text[from:])
	u.text = b.String()
	return u, len(u.ends) > 0
}

// mayHaveEscapes is a quick look: most texts have none but \n and \".
func mayHaveEscapes(text string) bool {
	for {
		at := strings.IndexAny(text, `\%&`)
		if at < 0 || at+1 == len(text) {
			return false
		}
		next := text[at+1]
		switch text[at] {
		case '\\':
			if strings.IndexByte("uUx01234567", next) >= 0 {
				return true
			}
		case '%':
			if strings.IndexByte("0123456789abcdefABCDEF", next) >= 0 {
				return true
			}
		default:
			if next == '#' || next == 'a' {
				return true
			}
		}
		text = text[at+1:]
	}
}

// escaped is the character that a match stands for, 0 for none.
func escaped(text string, match []int, groups []string) rune {
	for i, group := range groups {
		if i == 0 || match[2*i] < 0 {
			continue
		}
		base := 16
		switch group {
		case "octal":
			base = 8
		case "decimal":
			base = 10
		}
		n, err := strconv.ParseUint(text[match[2*i]:match[2*i+1]], base, 16)
		if err != nil {
			return 0
		}
		return rune(n)
	}
	return 0
}

// original is the place in the original of a place in the text.
func (u unescaped) original(at int) int {
	i, exact := slices.BinarySearch(u.ends, at)
	if exact {
		i++
	}
	if i == 0 {
		return at
	}
	return at + u.lost[i-1]
}

// maskEscaped masks the secrets of which some character is escaped.
func (f *Finder) maskEscaped(text string) string {
	u, ok := unescape(text)
	if !ok {
		return text
	}
	var found [][]int
	for _, w := range f.words {
		found = append(found, w.places(u.text)...)
	}
	found = append(found, f.short.places(u.text)...)
	if cut := f.cutOff(u.text); cut > 0 {
		found = append(found, []int{len(u.text) - cut, len(u.text)})
	}
	slices.SortFunc(found, func(a, b []int) int { return a[0] - b[0] })
	for _, place := range found {
		place[0], place[1] = u.original(place[0]), u.original(place[1])
	}
	return maskPlaces(text, found)
}

// places are where a word is in a text.
func (w word) places(text string) (found [][]int) {
	switch {
	case !strings.Contains(text, w.anchor):
		return nil
	case w.spellings != nil:
		return w.spellings.FindAllStringIndex(text, -1)
	}
	for from := 0; ; {
		at := strings.Index(text[from:], w.text)
		if at < 0 {
			return found
		}
		found = append(found, []int{from + at, from + at + len(w.text)})
		from += at + len(w.text)
	}
}
