// Package plain writes texts of models, servers and people for people to read: on one line, shortened, in
// columns, as JSON, and without characters that control a terminal.
package plain

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Line returns a text on one line, without characters that control a terminal or turn the direction of
// text.
func Line(text string) string {
	return strings.Map(func(r rune) rune {
		if IsControl(r) {
			return ' '
		}
		return r
	}, text)
}

// Escape writes the characters that Line replaces, and invalid UTF-8, as escapes such as \u001b. The
// characters in kept stay as they are.
func Escape(text, kept string) string {
	var b strings.Builder
	for i, r := range text {
		switch {
		case r == utf8.RuneError && !strings.HasPrefix(text[i:], "\uFFFD"):
			fmt.Fprintf(&b, `\x%02x`, text[i])
		case IsControl(r) && !strings.ContainsRune(kept, r):
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// IsControl reports whether a character controls a terminal or a reader and is no text.
func IsControl(r rune) bool {
	return r < ' ' || r >= 0x7f && (r < 0xa0 || unicode.In(r, unicode.Bidi_Control, unicode.Zl, unicode.Zp))
}

// Visible writes each character that a terminal does not show, or shows as a blank, as \u{HEX}. Spaces
// stay.
func Visible(text string) string {
	var b strings.Builder
	for _, r := range text {
		if unicode.IsPrint(r) {
			b.WriteRune(r)
		} else {
			fmt.Fprintf(&b, `\u{%x}`, r)
		}
	}
	return b.String()
}

// JSON is json.Marshal without escapes for <, > and &: prompts are full of them, and models and people
// read them.
func JSON(v any) (json.RawMessage, error) {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n")), nil
}

// JSONLine is JSON with escapes for the characters of IsControl.
func JSONLine(v any) (string, error) {
	line, err := JSON(v)
	return Escape(string(line), ""), err
}

// ByteOrderMark stands before a text that some editors, and programs of Windows, write.
const ByteOrderMark = "\ufeff"

// Count returns a number with its noun, such as "1 agent" or "2 agents".
func Count(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return strconv.Itoa(n) + " " + thing + "s"
}

// Seconds returns a duration in seconds with one decimal.
func Seconds(d time.Duration) string { return fmt.Sprintf("%.1f s", d.Seconds()) }

// Thousands returns a number with a comma for every thousand.
func Thousands(n int) string {
	digits := strconv.Itoa(n)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

// SortKey returns a form of an id that sorts byte by byte, but runs of digits by their value: agent2 comes
// before agent10. Ids that differ only in leading zeros sort as they are.
func SortKey(id string) string {
	isDigit := func(r rune) bool { return '0' <= r && r <= '9' }
	var key strings.Builder
	for rest := id; rest != ""; {
		start := strings.IndexFunc(rest, isDigit)
		if start < 0 {
			key.WriteString(rest)
			break
		}
		key.WriteString(rest[:start])
		number := rest[start:]
		rest = strings.TrimLeftFunc(number, isDigit)
		number = strings.TrimLeft(number[:len(number)-len(rest)], "0")
		fmt.Fprintf(&key, "%09d%s", len(number), number)
	}
	return key.String() + "\x00" + id
}

// Cut returns the first most characters of a text, with … if it was longer.
func Cut(text string, most int) string {
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return text
}

// CutBytes returns the whole characters in the first most bytes of a text, with … if it was longer.
func CutBytes(text string, most int) string {
	if len(text) <= most {
		return text
	}
	for most > 0 && !utf8.RuneStart(text[most]) {
		most--
	}
	return text[:most] + "…"
}

// LastBytes returns the whole characters in the last most bytes of a text.
func LastBytes(text string, most int) string {
	at := max(len(text)-most, 0)
	for at < len(text) && !utf8.RuneStart(text[at]) {
		at++
	}
	return text[at:]
}

// Columns writes rows. Each column except the last is as wide as its widest cell. Each cell is one line.
func Columns(rows [][]string) string {
	var widths []int
	for _, cells := range rows {
		for i, cell := range cells {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], len([]rune(cell)))
		}
	}
	var b strings.Builder
	for _, cells := range rows {
		var line strings.Builder
		for i, cell := range cells {
			fmt.Fprintf(&line, "%-*s  ", widths[i], Line(cell))
		}
		b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
	return b.String()
}

// mostListed is how many names List shows.
const mostListed = 8

// List joins names with commas, and counts those beyond the eighth.
func List(names []string) string {
	if len(names) > mostListed {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:mostListed], ", "), len(names)-mostListed)
	}
	return strings.Join(names, ", ")
}
