// Package fastjson reads and writes JSON as encoding/json does, in half of the time. Replaying a
// journal of thousands of events consists mostly of reading JSON.
package fastjson

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	fast "github.com/segmentio/encoding/json"
)

// Unmarshal does what json.Unmarshal of encoding/json does. It returns that function's errors, which
// quote no data.
func Unmarshal(data []byte, v any) error {
	if !hasLongNumber(data) && fast.Unmarshal(data, v) == nil {
		return nil
	}
	return json.Unmarshal(data, v)
}

// hasLongNumber reports whether data has 19 digits in a row. The fast reader wraps some integers that
// overflow. An integer of fewer digits cannot overflow 64 bits.
func hasLongNumber(data []byte) bool {
	const long = 19
	isDigit := func(i int) bool { return 0 <= i && i < len(data) && '0' <= data[i] && data[i] <= '9' }
	for i := long - 1; i < len(data); i += long { // such a row has one of these places
		from, to := i, i
		for isDigit(from - 1) {
			from--
		}
		for isDigit(to) {
			to++
		}
		if isDigit(i) && to-from >= long {
			return true
		}
	}
	return false
}

// AppendString appends text to data as a json.Encoder with SetEscapeHTML(false) writes it.
func AppendString(data []byte, text string) []byte {
	data = append(data, '"')
	from := 0 // of what is not appended yet
	for i := 0; i < len(text); {
		r, size := rune(text[i]), 1
		if r >= utf8.RuneSelf {
			r, size = utf8.DecodeRuneInString(text[i:])
		}
		if r < ' ' || r == '"' || r == '\\' || r == '\u2028' || r == '\u2029' || r == utf8.RuneError && size == 1 {
			data = appendEscape(append(data, text[from:i]...), r)
			from = i + size
		}
		i += size
	}
	return append(append(data, text[from:]...), '"')
}

// appendEscape appends the escape of a character.
func appendEscape(data []byte, r rune) []byte {
	const escaped, letters = "\"\\\b\f\n\r\t", `"\bfnrt`
	if i := strings.IndexRune(escaped, r); i >= 0 {
		return append(data, '\\', letters[i])
	}
	return fmt.Appendf(data, `\u%04x`, r)
}
