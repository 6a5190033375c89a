package textcall

import (
	"encoding/json"
	"regexp"
	"strconv"
	"strings"
)

// literal reads values that are written in Python, or in the form of Gemma's templates.
type literal struct {
	text string
	at   int
	// isLoose reports whether keys, and texts without a comma or bracket, may stand without quotes.
	isLoose bool
	depth   int
}

// maxNested is the most lists and objects in one another.
const maxNested = 50

var (
	number = regexp.MustCompile(`^[-+]?[0-9._]+(?:[eE][-+]?[0-9]+)?`)
	// fieldName matches the name of an argument, or a key without quotes.
	fieldName = regexp.MustCompile(`^[A-Za-z_$][\w.$-]*`)
	bareText  = regexp.MustCompile(`^[^,{}\[\]<>]+`)
	spaces    = regexp.MustCompile(`^\s*`)
)

func (l *literal) rest() string { return l.text[l.at:] }

func (l *literal) skipSpaces() { l.at += len(spaces.FindString(l.rest())) }

// takes skips blanks and a mark, and reports whether the mark is there.
func (l *literal) takes(mark string) bool {
	l.skipSpaces()
	if !strings.HasPrefix(l.rest(), mark) {
		return false
	}
	l.at += len(mark)
	return true
}

// value reads one value, and returns it in JSON.
func (l *literal) value() (value string, ok bool) {
	l.skipSpaces()
	if l.depth++; l.depth > maxNested {
		return "", false
	}
	defer func() { l.depth-- }()
	rest := l.rest()
	switch {
	case strings.HasPrefix(rest, "{"):
		return l.object()
	case strings.HasPrefix(rest, "["):
		return l.list("[", "]")
	case strings.HasPrefix(rest, "(") && !l.isLoose:
		return l.list("(", ")")
	}
	if text, ok := l.string(); ok {
		return quoted(text), true
	}
	rest = l.rest() // a text without its closing quote has no rest
	if l.isLoose {
		bare := bareText.FindString(rest)
		l.at += len(bare)
		text := strings.TrimSpace(bare)
		if value, ok := plainValue(text); ok {
			return value, true
		}
		return quoted(text), text != ""
	}
	text := number.FindString(rest)
	if text == "" {
		text = fieldName.FindString(rest)
	}
	l.at += len(text)
	return plainValue(text)
}

// plainValue returns a number or a constant in JSON.
func plainValue(text string) (value string, ok bool) {
	switch text {
	case "True", "true":
		return "true", true
	case "False", "false":
		return "false", true
	case "None", "null":
		return "null", true
	}
	if number.FindString(text) != text || text == "" {
		return "", false
	}
	text = strings.TrimPrefix(strings.ReplaceAll(text, "_", ""), "+")
	return text, json.Valid([]byte(text))
}

func (l *literal) list(opening, closing string) (value string, ok bool) {
	l.takes(opening)
	var values []string
	for !l.takes(closing) {
		value, ok := l.value()
		if !ok {
			return "", false
		}
		values = append(values, value)
		if l.takes(",") {
			continue
		}
		if !l.takes(closing) {
			return "", false
		}
		break
	}
	return "[" + strings.Join(values, ",") + "]", true
}

func (l *literal) object() (value string, ok bool) {
	l.takes("{")
	var fields object
	for !l.takes("}") {
		l.skipSpaces()
		key, isText := l.string()
		if !isText && l.isLoose {
			key = fieldName.FindString(l.rest())
			l.at += len(key)
		}
		if key == "" && !isText || !l.takes(":") {
			return "", false
		}
		value, ok := l.value()
		if !ok {
			return "", false
		}
		fields.add(key, value)
		if l.takes(",") {
			continue
		}
		if !l.takes("}") {
			return "", false
		}
		break
	}
	return fields.String(), true
}

// string reads a text in quotes. Line ends may stand in any of them, because small models write them so.
func (l *literal) string() (text string, ok bool) {
	rest := l.rest()
	for _, quote := range []string{`<|"|>`, "<escape>"} { // Gemma's templates write texts so, without escapes
		if inner, found := strings.CutPrefix(rest, quote); found {
			text, _, ok = strings.Cut(inner, quote)
			l.at += min(len(rest), len(text)+2*len(quote))
			return text, ok
		}
	}
	raw := false
	if len(rest) > 1 && (rest[0] == 'r' || rest[0] == 'R') {
		raw, rest = true, rest[1:]
	}
	if rest == "" || rest[0] != '"' && rest[0] != '\'' {
		return "", false
	}
	if raw {
		l.at++
	}
	quote := rest[:1]
	if triple := strings.Repeat(quote, 3); strings.HasPrefix(rest, triple) {
		quote = triple
	}
	var out strings.Builder
	for i := len(quote); i < len(rest); i++ {
		switch {
		case strings.HasPrefix(rest[i:], quote):
			l.at += i + len(quote)
			return out.String(), true
		case rest[i] != '\\' || i+1 == len(rest):
			out.WriteByte(rest[i])
		case raw:
			out.WriteString(rest[i : i+2])
			i++
		default:
			i += unescape(&out, rest[i+1:])
		}
	}
	l.at = len(l.text)
	return "", false
}

// unescape writes the character that an escape stands for, and returns the escape's length after its
// backslash. Python keeps the backslash of an unknown escape.
func unescape(out *strings.Builder, escape string) int {
	const from, to = `nrtbfav0\'"`, "\n\r\t\b\f\a\v\x00\\'\""
	if i := strings.IndexByte(from, escape[0]); i >= 0 {
		out.WriteByte(to[i])
		return 1
	}
	length := map[byte]int{'x': 2, 'u': 4, 'U': 8}[escape[0]]
	if length > 0 && len(escape) > length {
		if code, err := strconv.ParseUint(escape[1:1+length], 16, 32); err == nil {
			out.WriteRune(rune(code))
			return 1 + length
		}
	}
	if escape[0] != '\n' { // which continues the line
		out.WriteByte('\\')
		out.WriteByte(escape[0])
	}
	return 1
}
