package secrets

import (
	"html"
	"strings"
	"unicode/utf8"
)

// unescape returns a text with characters of ASCII in place of their escapes in JSON, JavaScript,
// C, shells (\u0073, \u{73}, \U00000073, \x73, \163), URLs (%73) and HTML (&#115; &#x73; &lowbar;).
// No encoder has to escape a letter, but a text that hides a key on purpose does, and readers,
// shells and services decode it.
func unescape(text string) decoded {
	d := decoder{text: text}
	for at := 0; ; {
		next := strings.IndexAny(text[at:], `\%&`)
		if next < 0 {
			return d.decoded()
		}
		at += next
		char, end := escapeAt(text, at)
		if char != "" {
			d.put(char, at, end)
		}
		at = end
	}
}

// escapeAt returns the character that the escape at a place stands for, or "" if there is none, and
// the place behind it.
func escapeAt(text string, at int) (char string, end int) {
	switch text[at] {
	case '%':
		return percentAt(text, at+1)
	case '&':
		return entityAt(text, at+1)
	}
	for end = at; end < len(text) && text[end] == '\\'; end++ {
	}
	if end == len(text) {
		return "", end
	}
	if text[end] == '&' {
		return entityAt(text, end+1)
	}
	char, behind := backslashAt(text, end)
	if char == "" {
		return "", end
	}
	return char, behind
}

// backslashAt is escapeAt for an escape with backslashes. The place is behind them.
func backslashAt(text string, at int) (char string, end int) {
	rest := text[at:]
	for _, begin := range []string{"u{", "x{"} {
		if digits, ok := strings.CutPrefix(rest, begin); ok {
			digits = strings.TrimLeft(digits, "0")
			value, n := number(digits, 16, 2)
			return asciiOf(value), len(text) - len(strings.TrimPrefix(digits[n:], "}"))
		}
	}
	for _, begin := range []string{"u00", "U000000", "x"} {
		if digits, ok := strings.CutPrefix(rest, begin); ok {
			value, n := number(digits, 16, 2)
			return asciiOf(value), at + len(begin) + n
		}
	}
	if value, n := number(rest, 8, 4); n == 4 && rest[0] == '0' && value < utf8.RuneSelf {
		return asciiOf(value), at + n
	}
	if value, n := number(rest, 8, 3); n == 3 {
		return asciiOf(value), at + n
	}
	return "", at
}

// percentAt is escapeAt for an escape with a percent sign, which may be escaped itself. The place
// is behind that sign.
func percentAt(text string, at int) (char string, end int) {
	for strings.HasPrefix(text[at:], "25") {
		if _, n := number(text[at+2:], 16, 2); n < 2 {
			break
		}
		at += 2
	}
	value, n := number(text[at:], 16, 2)
	if n < 2 {
		return "", at
	}
	return asciiOf(value), at + n
}

// entityAt is escapeAt for an entity of HTML, whose ampersand may be escaped itself. The place is
// behind the first ampersand.
func entityAt(text string, at int) (char string, end int) {
	for strings.HasPrefix(text[at:], "amp;amp;") || strings.HasPrefix(text[at:], "amp;#") {
		at += len("amp;")
	}
	if strings.HasPrefix(text[at:], "#") {
		return numberedAt(text, at+1)
	}
	return namedAt(text, at)
}

// numberedAt is entityAt for an entity with a number, which is at the place.
func numberedAt(text string, at int) (char string, end int) {
	base, most := byte(10), 3
	digits := text[at:]
	if strings.HasPrefix(digits, "x") || strings.HasPrefix(digits, "X") {
		base, most, digits = 16, 2, digits[1:]
	}
	digits = strings.TrimLeft(digits, "0")
	value, n := number(digits, base, most)
	return asciiOf(value), len(text) - len(strings.TrimPrefix(digits[n:], ";"))
}

// longestEntity is the length of the longest name that HTML has for a character.
const longestEntity = 31

// namedAt is entityAt for an entity with a name, which is at the place.
func namedAt(text string, at int) (char string, end int) {
	end = at
	for end < len(text) && end-at < longestEntity && isAlphanumeric(text[end]) {
		end++
	}
	if end == at {
		return "", end
	}
	if end < len(text) && text[end] == ';' {
		end++
	}
	entity := "&" + text[at:end]
	char = html.UnescapeString(entity)
	switch char {
	case entity:
		return "", end
	case "‐", "−", "–": // hyphen, minus and ndash look like the sign in keys
		return "-", end
	case "\u00a0":
		return " ", end
	case "fj": // the one entity with two letters of ASCII
		return char, end
	}
	if char[0] >= utf8.RuneSelf {
		return "", end
	}
	return char[:1], end - len(char[1:]) // &ltx is <x
}

// number reads a number that has most digits at most, and returns the count of its digits.
func number(text string, base byte, most int) (value, n int) {
	for n < min(most, len(text)) && digitOf(text[n]) < base {
		value = value*int(base) + int(digitOf(text[n]))
		n++
	}
	return value, n
}

// asciiOf returns a character of ASCII, or "" for NUL and for any other character.
func asciiOf(value int) string {
	if value <= 0 || value >= utf8.RuneSelf {
		return ""
	}
	return string(rune(value))
}

// unquote returns a text with bytes in place of their escapes in quoted-printable (=73), and
// without the line ends that quoted-printable adds. It is not a part of unescape, since "x=41" is
// often no escape.
func unquote(text string) decoded {
	d := decoder{text: text}
	for at := 0; ; {
		next := strings.IndexByte(text[at:], '=')
		if next < 0 {
			return d.decoded()
		}
		at += next
		rest := text[at+1:]
		if value, n := number(rest, 16, 2); n == 2 {
			d.put(string([]byte{byte(value)}), at, at+3)
			at += 3
			continue
		}
		for _, end := range []string{"\n", "\r\n", `\n`, `\r\n`} { // the latter two are escaped in JSON
			if strings.HasPrefix(rest, end) {
				d.put("", at, at+1+len(end))
				break
			}
		}
		at++
	}
}
