package wire

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/massgen/massgen/backends"
)

// CallID names a call that came without an id. It depends on nothing but the
// model call and the position, so a replay gives the same; it is short enough
// and plain enough for every provider.
func CallID(key backends.Key, position int) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %d %q %d %q %d %d",
		key.Session, key.Turn, key.Agent, key.Round, key.Purpose, key.Index, position))
	return fmt.Sprintf("call_%x", sum[:12])
}

// ShortID returns the id that a call has where the id that another service gave it is refused. The
// same id gives the same, of 29 letters, digits and "_".
func ShortID(id string) string {
	sum := sha256.Sum256([]byte(id))
	return fmt.Sprintf("call_%x", sum[:12])
}

// TidyArguments returns arguments as JSON where they are JSON in some disguise
// that models use (a code fence, a trailing comma, a line break within a string, a JSON
// string around it, or nothing for no arguments), else as they are.
func TidyArguments(arguments string) string {
	text := strings.TrimSpace(arguments)
	if text == "" {
		return "{}"
	}
	var inner string
	if json.Unmarshal([]byte(text), &inner) == nil && json.Valid([]byte(inner)) {
		return inner
	}
	if json.Valid([]byte(text)) {
		return arguments
	}
	if plain := mended(withoutFence(text)); json.Valid([]byte(plain)) {
		return plain
	}
	return arguments
}

func withoutFence(text string) string {
	body, ok := strings.CutPrefix(text, "```")
	if !ok {
		return text
	}
	body = strings.TrimSuffix(strings.TrimSpace(body), "```")
	if start := strings.IndexAny(body, "{["); start >= 0 {
		return strings.TrimSpace(body[start:])
	}
	return text
}

// mended leaves out each comma, outside of strings, that only white space parts from a
// closing bracket, and escapes the control characters within strings.
func mended(text string) string {
	var out strings.Builder
	inString := false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case inString && c == '\\' && i+1 < len(text):
			out.WriteByte(c)
			i++
		case inString && c < ' ':
			fmt.Fprintf(&out, `\u%04x`, c)
			continue
		case c == '"':
			inString = !inString
		case c == ',' && !inString:
			rest := strings.TrimLeft(text[i+1:], " \t\r\n")
			if strings.HasPrefix(rest, "}") || strings.HasPrefix(rest, "]") {
				continue
			}
		}
		out.WriteByte(text[i])
	}
	return out.String()
}
