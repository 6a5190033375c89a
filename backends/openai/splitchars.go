package openai

import (
	"strings"
	"unicode/utf8"
)

// Some services cut a character in two: one event ends with its first bytes and
// the next begins with the others. That is no valid JSON, and encoding/json
// makes U+FFFD of each byte. So the bytes are hidden in characters that nobody
// uses before a chunk is decoded, and joined after it.

// hiddenBase is the first of 256 private characters, one for each byte.
const hiddenBase = 0x10FF00

// hideBrokenChars returns raw with each byte that is no part of a character
// replaced by its private character, and whether there was any.
func hideBrokenChars(raw []byte) ([]byte, bool) {
	if utf8.Valid(raw) {
		return raw, false
	}
	out := make([]byte, 0, len(raw)+16)
	for len(raw) > 0 {
		r, size := utf8.DecodeRune(raw)
		if r == utf8.RuneError && size == 1 {
			r = hiddenBase + rune(raw[0])
		}
		out = utf8.AppendRune(out, r)
		raw = raw[size:]
	}
	return out, true
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
	text = j.rest + text
	end := len(text)
	for back := 1; back < utf8.UTFMax && back <= len(text); back++ {
		if tail := text[len(text)-back:]; utf8.RuneStart(tail[0]) {
			if !utf8.FullRuneInString(tail) {
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
