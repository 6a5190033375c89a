package openai

import (
	"bytes"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/massgen/massgen/internal/system/plain"
)

// Some services cut a character in two: one event ends with its first bytes and
// the next begins with the others. That is no valid JSON, and encoding/json
// makes U+FFFD of each byte. So rawText keeps the bytes, and they are joined after
// it. Services in JavaScript cut between the two halves of UTF-16 instead, and write
// each as \ud83d: those are kept as the three bytes that each would have, were it a
// character.

// rawText is a JSON string, in which a part of a character stays what it is.
type rawText string

// UnmarshalJSON reads a string, also one that is no valid UTF-8.
func (t *rawText) UnmarshalJSON(data []byte) error {
	isWhole := utf8.Valid(data) && !bytes.Contains(data, []byte(`\ud`)) && !bytes.Contains(data, []byte(`\uD`))
	if isWhole || data[0] != '"' {
		return plain.Unmarshal(data, (*string)(t))
	}
	var out []byte
	for rest := data[1 : len(data)-1]; len(rest) > 0; {
		size := 1
		if unit, ok := escapedUnit(rest); ok {
			size = len(`\u0000`)
			out = appendUnit(out, unit)
		} else if rest[0] == '\\' {
			size = 2
			out = append(out, unescaped(rest[1]))
		} else {
			out = append(out, rest[0])
		}
		rest = rest[size:]
	}
	*t = rawText(joinHalves(string(out)))
	return nil
}

// unescaped is the character that a backslash and c stand for.
func unescaped(c byte) byte {
	if i := strings.IndexByte("bfnrt", c); i >= 0 {
		return "\b\f\n\r\t"[i]
	}
	return c
}

// escapedUnit reads \u with the four digits of a unit of UTF-16.
func escapedUnit(raw []byte) (rune, bool) {
	if len(raw) < 6 || raw[0] != '\\' || raw[1] != 'u' {
		return 0, false
	}
	unit, err := strconv.ParseUint(string(raw[2:6]), 16, 16)
	return rune(unit), err == nil
}

// appendUnit writes a half of UTF-16 as UTF-8 would write a character of that number.
func appendUnit(out []byte, unit rune) []byte {
	if !utf16.IsSurrogate(unit) {
		return utf8.AppendRune(out, unit)
	}
	return append(out, 0xE0|byte(unit>>12), 0x80|byte(unit>>6)&0x3F, 0x80|byte(unit)&0x3F)
}

// halfAt returns the half with which text begins as appendUnit wrote it, or 0.
func halfAt(text string) rune {
	if len(text) < 3 || text[0] != 0xED || text[1] < 0xA0 {
		return 0
	}
	return 0xD000 | rune(text[1]&0x3F)<<6 | rune(text[2]&0x3F)
}

// joinHalves makes characters of halves that stand beside each other.
func joinHalves(text string) string {
	var out strings.Builder
	for {
		i := strings.IndexByte(text, 0xED)
		if i < 0 || len(text) < i+6 {
			break
		}
		if r := utf16.DecodeRune(halfAt(text[i:]), halfAt(text[i+3:])); r != utf8.RuneError {
			out.WriteString(text[:i])
			out.WriteRune(r)
			text = text[i+6:]
			continue
		}
		out.WriteString(text[:i+1])
		text = text[i+1:]
	}
	return out.String() + text
}

// charJoiner keeps the beginning of a character until its end comes.
type charJoiner struct{ rest string }

// join returns the whole characters of the kept beginning and text. Bytes that cannot
// become a character are U+FFFD.
func (j *charJoiner) join(text string) string {
	text = joinHalves(j.rest + text)
	end := len(text)
	for back := 1; back < utf8.UTFMax && back <= len(text); back++ {
		if tail := text[len(text)-back:]; utf8.RuneStart(tail[0]) {
			if !utf8.FullRuneInString(tail) || halfAt(tail) != 0 {
				end = len(text) - back
			}
			break
		}
	}
	j.rest = text[end:]
	return strings.ToValidUTF8(text[:end], string(utf8.RuneError))
}

// end returns what stands for a character that never ended, or "".
func (j *charJoiner) end() string {
	rest := j.rest
	j.rest = ""
	return strings.ToValidUTF8(rest, string(utf8.RuneError))
}
