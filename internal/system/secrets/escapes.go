package secrets

import (
	"html"
	"regexp"
	"strconv"
	"strings"
)

// withoutEscapes unescapes a text until no escape is left.
func withoutEscapes(text string) string {
	for range mostLevels {
		text = unescape(text)
	}
	return text
}

// withoutBegunEscape returns a text without the beginning of an escape at its end. In a longer text,
// such an end may be a part of an escape.
func withoutBegunEscape(text string) string { return begunEscape.ReplaceAllLiteralString(text, "") }

var begunEscape = regexp.MustCompile(`(?:\\(?:u[0-9A-Fa-f]{0,3})?|%[0-9A-Fa-f]?|&[#0-9A-Za-z]{0,8})$`)

// unescape returns a text with characters in place of their escapes.
func unescape(text string) string {
	var b strings.Builder
	for at := 0; ; {
		from, to, char := nextEscape(text, at)
		if from == len(text) && at == 0 {
			return text
		}
		b.WriteString(text[at:from])
		b.WriteString(char)
		if at = to; from == len(text) {
			return b.String()
		}
	}
}

// offsets returns where in a text each byte of its unescaped text begins, and where the last ends.
func offsets(text string) (all []int) {
	for at := 0; ; {
		from, to, char := nextEscape(text, at)
		for ; at < from; at++ {
			all = append(all, at)
		}
		if from == len(text) {
			return append(all, from)
		}
		for range len(char) {
			all = append(all, from)
		}
		at = to
	}
}

// nextEscape returns the place of the first escape behind a place, and its character. If there is
// none, from and to are the end of the text.
func nextEscape(text string, behind int) (from, to int, char string) {
	for from = behind; ; from++ {
		next := strings.IndexAny(text[from:], `\%&`)
		if next < 0 {
			return len(text), len(text), ""
		}
		from += next
		if char, length := escapeAt(text[from:]); length > 0 {
			return from, from + length, char
		}
	}
}

// longestEntity is the length of the longest character reference of HTML by number: &#x10FFFF;.
const longestEntity = 10

// escapeAt returns the character that the escape at the beginning of a text stands for, and the
// escape's length, 0 if there is no escape.
func escapeAt(text string) (char string, length int) {
	switch {
	case text[0] == '%' && len(text) >= 3: // a URL's
		if code, err := strconv.ParseUint(text[1:3], 16, 8); err == nil {
			return string([]byte{byte(code)}), 3
		}
	case text[0] == '&': // HTML's
		end := strings.IndexAny(text[1:min(len(text), longestEntity)], "&;") + 2
		if char := html.UnescapeString(text[:end]); text[end-1] == ';' && char != text[:end] {
			return char, end
		}
	case strings.HasPrefix(text, `\u`) && len(text) >= 6: // JSON's
		if code, err := strconv.ParseUint(text[2:6], 16, 16); err == nil {
			return string(rune(code)), 6
		}
	case text[0] == '\\' && len(text) >= 2:
		if at := strings.IndexByte(`"\/nrt`, text[1]); at >= 0 {
			return "\"\\/\n\r\t"[at : at+1], 2
		}
	}
	return "", 0
}
