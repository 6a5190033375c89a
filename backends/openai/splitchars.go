package openai

import (
	"bytes"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// Some services cut a character in two: one event ends with its first bytes and
// the next begins with the others. That is no valid JSON, and encoding/json
// makes U+FFFD of each byte. So the bytes are hidden in characters that nobody
// uses before a chunk is decoded, and joined after it. Services in JavaScript cut
// between the two halves of UTF-16 instead, and write each as \ud83d: those are
// hidden as the three bytes that each would have, were it a character.

// hiddenBase is the first of 256 private characters, one for each byte.
const hiddenBase = 0x10FF00

// hideBrokenChars returns raw with each byte that is no part of a character, and
// each escaped half of one, replaced by private characters, and whether there was
// any.
func hideBrokenChars(raw []byte) ([]byte, bool) {
	if utf8.Valid(raw) && !bytes.Contains(raw, []byte(`\ud`)) && !bytes.Contains(raw, []byte(`\uD`)) {
		return raw, false
	}
	out, broken := make([]byte, 0, len(raw)+16), false
	for len(raw) > 0 {
		if raw[0] == '\\' {
			size, half := escape(raw)
			if half == 0 {
				out = append(out, raw[:size]...)
			} else {
				out, broken = appendHidden(out, halfBytes(half)...), true
			}
			raw = raw[size:]
			continue
		}
		r, size := utf8.DecodeRune(raw)
		if r == utf8.RuneError && size == 1 {
			out, broken = appendHidden(out, raw[0]), true
		} else {
			out = append(out, raw[:size]...)
		}
		raw = raw[size:]
	}
	return out, broken
}

func appendHidden(out []byte, hidden ...byte) []byte {
	for _, b := range hidden {
		out = utf8.AppendRune(out, hiddenBase+rune(b))
	}
	return out
}

// escape returns the length of the escape with which raw begins, two escaped halves
// that make a character being one, and the half that it is, if it is one alone.
func escape(raw []byte) (size int, half rune) {
	first, ok := escapedUnit(raw)
	if !ok {
		return min(2, len(raw)), 0
	}
	const unitSize = len(`\u0000`)
	if !utf16.IsSurrogate(first) {
		return unitSize, 0
	}
	if second, ok := escapedUnit(raw[unitSize:]); ok && utf16.DecodeRune(first, second) != utf8.RuneError {
		return 2 * unitSize, 0
	}
	return unitSize, first
}

// escapedUnit reads \u with the four digits of a unit of UTF-16.
func escapedUnit(raw []byte) (rune, bool) {
	if len(raw) < 6 || raw[0] != '\\' || raw[1] != 'u' {
		return 0, false
	}
	unit, err := strconv.ParseUint(string(raw[2:6]), 16, 16)
	return rune(unit), err == nil
}

// halfBytes writes a half of UTF-16 as UTF-8 would write a character of that number.
func halfBytes(half rune) []byte {
	return []byte{0xE0 | byte(half>>12), 0x80 | byte(half>>6)&0x3F, 0x80 | byte(half)&0x3F}
}

// halfAt returns the half with which text begins as halfBytes wrote it, or 0.
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

// unhide puts the hidden bytes back.
func unhide(text string) string {
	var out strings.Builder
	for _, r := range text {
		if r >= hiddenBase {
			out.WriteByte(byte(r - hiddenBase))
		} else {
			out.WriteRune(r)
		}
	}
	return out.String()
}

// charJoiner keeps the beginning of a character until its end comes.
type charJoiner struct{ rest string }

// join returns the whole characters of what was kept and text. What can become
// none is U+FFFD.
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
