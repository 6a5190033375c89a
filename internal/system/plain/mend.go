package plain

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
)

// MendJSON returns the JSON object or list at the beginning of a text, and its length in the text. It corrects
// three faults of small models: control characters within strings, backslashes that escape nothing, and commas before a
// closing bracket. value is empty if the text has another fault; length is 0 if nothing ends the value.
func MendJSON(text string) (value string, length int) {
	var out strings.Builder
	depth, inString := 0, false
	for i := 0; i < len(text); i++ {
		c := text[i]
		switch {
		case inString && c == '\\' && i+1 < len(text):
			if !strings.ContainsRune(`"\/bfnrtu`, rune(text[i+1])) {
				out.WriteByte('\\')
				break
			}
			out.WriteByte(c)
			i++
			c = text[i]
		case inString && c < ' ':
			fmt.Fprintf(&out, `\u%04x`, c)
			continue
		case c == '"':
			inString = !inString
		case inString:
		case c == '{' || c == '[':
			depth++
		case c == '}' || c == ']':
			depth--
		case c == ',' && closing.MatchString(text[i+1:]):
			continue
		}
		out.WriteByte(c)
		if depth == 0 && !inString {
			if value = out.String(); !json.Valid([]byte(value)) {
				value = ""
			}
			return value, i + 1
		}
	}
	return "", 0
}

var closing = regexp.MustCompile(`^[ \t\r\n]*[}\]]`)
