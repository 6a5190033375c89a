package secrets

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// isPlain says whether every encoder leaves a character as it is: the unreserved ones
// of RFC 3986, section 2.3.
func isPlain(r rune) bool {
	switch {
	case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9':
		return true
	}
	return strings.ContainsRune("-._~", r)
}

// isWordRune reports whether a character goes on with the word before it.
func isWordRune(r rune) bool {
	return r == '_' || r == '-' || r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsDigit(r))
}

// pattern is a regular expression for all spellings of a text in JSON, URLs and
// HTML, one within the other too.
func pattern(text string) string {
	var b strings.Builder
	for _, r := range text {
		if isPlain(r) {
			b.WriteString(regexp.QuoteMeta(string(r)))
		} else {
			b.WriteString("(?:" + strings.Join(spellingsOf(r), "|") + ")")
		}
	}
	return b.String()
}

// ampersand begins a character of HTML, which may be in HTML or JSON itself.
const ampersand = `(?:\\*&|\\+u0026)(?:amp;)*`

// spellingsOf are regular expressions for the ways to write a character that has
// several, the longer before those that they begin with.
func spellingsOf(r rune) []string {
	var percent strings.Builder
	for _, c := range []byte(string(r)) {
		fmt.Fprintf(&percent, "%%(?:25)*%02x", c)
	}
	all := []string{
		"(?i:" + percent.String() + ")",
		fmt.Sprintf(`\\+u(?i:%04x)`, r),
		fmt.Sprintf(ampersand+`(?i:#0*%d|#x0*%x%s);`, r, r, entities(r)),
	}
	switch r {
	case '\\':
		return append(all, `\\+`)
	case '&':
		return append([]string{ampersand}, all...) // it may begin one of the others
	case ' ':
		return append(all, `[ +]`, `%(?:25)*2[Bb]`) // the + of a query, encoded once more
	case '\n':
		return append(all, `\\+n`, `\n`)
	case '\t':
		return append(all, `\\+t`, `\t`)
	}
	return append(all, `\\*`+regexp.QuoteMeta(string(r)))
}

// entities are the names that HTML has for a character, as further alternatives.
func entities(r rune) string {
	switch r {
	case '<':
		return "|lt"
	case '>':
		return "|gt"
	case '"':
		return "|quot"
	case '\'':
		return "|apos"
	}
	return ""
}

// shortestEncoding keeps encodings of short texts from being found where they are
// not meant.
const shortestEncoding = 8

// encodings are a text in base64, alone and as a part of something longer, and in
// hexadecimal digits.
func encodings(text string) []string {
	digits := hex.EncodeToString([]byte(text))
	all := []string{digits, strings.ToUpper(digits)}
	for _, alphabet := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		all = append(all, alphabet.EncodeToString([]byte(text)))
		for before := range 3 {
			all = append(all, within(alphabet, text, before))
		}
	}
	var long []string
	for _, e := range all {
		if len(e) >= shortestEncoding {
			long = append(long, e)
		}
	}
	return long
}

// within returns what is always the same of the base64 of something that holds the
// text after so many bytes, by three: without the digits at both ends that depend on
// the neighbours too.
func within(alphabet *base64.Encoding, text string, before int) string {
	encoded := alphabet.EncodeToString(append(make([]byte, before), text...))
	end := len(encoded)
	if (before+len(text))%3 != 0 {
		end--
	}
	start := []int{0, 2, 3}[before]
	return encoded[min(start, end):end]
}
