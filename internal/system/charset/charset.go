// Package charset reads texts from files and pipes of any origin. It decodes UTF-8, UTF-16 and UTF-32,
// with and without a byte order mark, and names the encoding of other texts.
package charset

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"net/http"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/massgen/massgen/internal/system/plain"
)

// Error reports bytes that Decode cannot read. It names what they are.
type Error struct {
	// Encoding is the likely encoding of a text, as iconv calls it, and empty for data that is no
	// text.
	Encoding string
	// Kind is the media type of data that is no text.
	Kind string
}

// Error implements error.
func (e *Error) Error() string {
	if e.Encoding == "" {
		return fmt.Sprintf("it is no text (%s)", e.Kind)
	}
	return fmt.Sprintf("it is not in UTF-8 and looks like %s: convert it, as with iconv -f %[1]s -t UTF-8", e.Encoding)
}

// Decode returns a text in UTF-8, without a byte order mark. A text that is UTF-8 except for a few bytes
// keeps these bytes, and one with control characters keeps them; Note counts both. The error is an
// *Error.
func Decode(data []byte) (string, error) {
	if text, isDecoded := decodeUnits(data); isDecoded {
		return text, nil
	}
	text := strings.TrimPrefix(string(data), plain.ByteOrderMark)
	invalid, controls := strays(text)
	switch {
	case controls*4 > len(text), invalid > 0 && strings.Contains(text, "\x00"):
		kind, _, _ := strings.Cut(http.DetectContentType(data), ";")
		if strings.HasPrefix(kind, "text/") {
			kind = "application/octet-stream"
		}
		return "", &Error{Kind: kind}
	case invalid > 0 && !isMostlyUTF8(text, invalid):
		return "", &Error{Encoding: codePage(data)}
	}
	return text, nil
}

// Strict is Decode for texts that must be UTF-8 throughout, such as those that a person stores: it also
// refuses a single byte that is no UTF-8.
func Strict(data []byte) (string, error) {
	text, err := Decode(data)
	if err == nil && !utf8.ValidString(text) {
		err = &Error{Encoding: codePage(data)}
	}
	return text, err
}

// Note returns a warning about the bytes of a text that models are shown as U+FFFD (DESIGN §5), empty if
// there are none.
func Note(text string) string {
	invalid, controls := strays(text)
	var parts []string
	if invalid > 0 {
		parts = append(parts, plain.Count(invalid, "byte")+" that "+isOrAre(invalid)+" not UTF-8")
	}
	if controls > 0 {
		parts = append(parts, plain.Count(controls, "byte")+" of control characters")
	}
	if len(parts) == 0 {
		return ""
	}
	return "the question has " + strings.Join(parts, " and ") + ": models are shown U+FFFD in their place"
}

func isOrAre(n int) string {
	if n == 1 {
		return "is"
	}
	return "are"
}

// strays counts the bytes that are not UTF-8, and the bytes of control characters other than tab, line
// feed and carriage return.
func strays(text string) (invalid, controls int) {
	for at := 0; at < len(text); {
		if c := text[at]; c >= ' ' && c < 0x7f {
			at++
			continue
		}
		r, size := utf8.DecodeRuneInString(text[at:])
		switch {
		case r == utf8.RuneError && size == 1:
			invalid++
		case unicode.IsControl(r) && r != '\t' && r != '\n' && r != '\r':
			controls += size
		}
		at += size
	}
	return invalid, controls
}

// isMostlyUTF8 reports whether the invalid bytes of a text are damage, as by a cut in the middle of a
// character, and no other encoding.
func isMostlyUTF8(text string, invalid int) bool {
	valid, ends := 0, 0 // characters of several bytes, and bytes that no text in an encoding of Europe has
	for at := 0; at < len(text); {
		_, size := utf8.DecodeRuneInString(text[at:])
		switch {
		case size > 1:
			valid++
		case text[at] >= 0xfe:
			ends++
		}
		at += size
	}
	return invalid <= valid || invalid*50 <= len(text) || invalid == ends && invalid*4 <= len(text)
}

// decodeUnits decodes UTF-16 and UTF-32. Without a byte order mark it decodes only UTF-16 in which most
// characters are ASCII.
func decodeUnits(data []byte) (text string, isDecoded bool) {
	switch {
	case bytes.HasPrefix(data, []byte{0xff, 0xfe, 0, 0}) && len(data)%4 == 0:
		return decode32(data[4:], binary.LittleEndian), true
	case bytes.HasPrefix(data, []byte{0, 0, 0xfe, 0xff}):
		return decode32(data[4:], binary.BigEndian), true
	case bytes.HasPrefix(data, []byte{0xff, 0xfe}):
		return decode16(data[2:], binary.LittleEndian), true
	case bytes.HasPrefix(data, []byte{0xfe, 0xff}):
		return decode16(data[2:], binary.BigEndian), true
	}
	var zeros, letters [2]int // at even and at odd places
	for i, c := range data {
		switch {
		case c == 0:
			zeros[i%2]++
		case c == '\t', c == '\n', c == '\r', c >= ' ' && c < 0x7f:
			letters[i%2]++
		}
	}
	pairs := len(data) / 2
	for high, order := range []binary.ByteOrder{binary.BigEndian, binary.LittleEndian} {
		if zeros[high] > 0 && zeros[high]*2 >= pairs && zeros[1-high] == 0 && letters[1-high]*2 >= pairs {
			return decode16(data, order), true
		}
	}
	return "", false
}

// decode16 decodes UTF-16. A half of a character becomes U+FFFD.
func decode16(data []byte, order binary.ByteOrder) string {
	units := make([]uint16, 0, len(data)/2)
	for ; len(data) >= 2; data = data[2:] {
		units = append(units, order.Uint16(data))
	}
	text := string(utf16.Decode(units))
	if len(data) > 0 {
		text += string(utf8.RuneError)
	}
	return text
}

// decode32 decodes UTF-32. What is no character becomes U+FFFD.
func decode32(data []byte, order binary.ByteOrder) string {
	var text strings.Builder
	for ; len(data) >= 4; data = data[4:] {
		r := order.Uint32(data)
		if r > unicode.MaxRune {
			r = uint32(utf8.RuneError)
		}
		text.WriteRune(rune(r))
	}
	if len(data) > 0 {
		text.WriteRune(utf8.RuneError)
	}
	return text.String()
}
