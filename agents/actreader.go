package agents

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/massgen/massgen/internal/coordination/effect"
	"github.com/massgen/massgen/internal/tools/textcall"
)

// actReader reads the text of an act, the content of new_answer or the reason of vote, out of JSON that comes in
// pieces. A piece may end anywhere. The reader accepts strings that encoding/json refuses, such as with a line feed: the
// reader of the whole JSON decides whether the act counts. It reads only the first act, because a message with several
// is refused.
type actReader struct {
	// say gets the next piece of the act's text. It may end within a character.
	say func(act, piece string)
	// act is the act whose arguments the JSON is, and empty if the JSON names its act.
	act string
	// hasSchema reports whether the content is a value, whose JSON is its text.
	hasSchema bool

	levels []level
	at     role
	text   []byte // the name or the key under way, or the piece of the act's text
	field  string // the key of the act's text
	isDone bool   // the act's text is complete

	inString, isEscaped bool
	unit                string // the begun digits of \u, with the u
	high                rune   // the first half of a character of UTF-16
	depth               int    // of brackets in a value with a schema
}

// role is what the text under way is.
type role int

const (
	other role = iota
	aKey
	aName
	ofAct   // a string
	inValue // a value with a schema
)

// level is an open object or list.
type level struct {
	isList, isValue bool // isValue: the key has ended
	key             string
	// owner is the index of the level that has the name of the act: the level itself, or the object around its
	// arguments.
	owner int
	act   string
	// content and reason are texts whose act is not known yet.
	content, reason []byte
}

// deepest is the most levels that are read. JSON that is deeper has no act.
const deepest = 64

// isOneOf reports whether a key is in a list of package textcall, which knows the forms in which models write acts.
func isOneOf(list, key string) bool { return slices.Contains(strings.Fields(list), key) }

// fieldOf returns the key of an act's text.
func fieldOf(act string) string {
	switch act {
	case effect.NewAnswer:
		return "content"
	case effect.Vote:
		return "reason"
	}
	return ""
}

// add reads the next piece.
func (r *actReader) add(piece string) {
	for i := 0; i < len(piece) && !r.isDone; i++ {
		switch c := piece[i]; {
		case r.at == inValue:
			r.value(c)
		case r.inString:
			r.char(c)
		default:
			r.structure(c)
		}
	}
	if r.at == ofAct || r.at == inValue {
		r.flush()
	}
}

// unnamed returns a text of new_answer whose act is not known yet.
func (r *actReader) unnamed() string {
	for _, l := range r.levels {
		if len(l.content) > 0 {
			return string(l.content)
		}
	}
	return ""
}

// top returns the innermost level.
func (r *actReader) top() *level { return &r.levels[len(r.levels)-1] }

// structure reads a byte outside of strings.
func (r *actReader) structure(c byte) {
	switch {
	case c == '{' || c == '[':
		if r.isAct() && r.hasSchema && r.field == "content" {
			r.at, r.depth, r.text = inValue, 0, r.text[:0]
			r.value(c)
			return
		}
		r.open(c == '[')
	case len(r.levels) == 0:
	case c == '"':
		r.begin()
	case c == ':':
		r.top().isValue = true
	case c == ',':
		r.top().isValue = false
	case c == '}' || c == ']':
		r.levels = r.levels[:len(r.levels)-1]
	}
}

func (r *actReader) open(isList bool) {
	l := level{isList: isList, owner: len(r.levels)}
	if len(r.levels) == 0 {
		l.act = r.act
	} else if top := r.top(); top.isValue && isOneOf(textcall.ArgumentKeys, top.key) {
		l.owner = top.owner
	} else if fieldOf(top.key) != "" {
		l.act = top.key
	}
	r.levels = append(r.levels, l)
	r.isDone = len(r.levels) > deepest
}

// isAct reports whether the value that begins is an act's text, and notes its field.
func (r *actReader) isAct() bool {
	if len(r.levels) == 0 || r.act != "" && len(r.levels) > 1 {
		return false
	}
	top := r.top()
	r.field = top.key
	act := r.levels[top.owner].act
	return !top.isList && top.isValue && (fieldOf(act) == top.key || act == "" && (top.key == "content" || top.key == "reason"))
}

// begin begins a string.
func (r *actReader) begin() {
	r.inString, r.text = true, r.text[:0]
	switch top := r.top(); {
	case !top.isList && !top.isValue:
		r.at = aKey
	case r.isAct() && (!r.hasSchema || r.field != "content"):
		r.at = ofAct
	case !top.isList && r.act == "" && top.owner == len(r.levels)-1 && isOneOf(textcall.NameKeys, top.key):
		r.at = aName
	default:
		r.at = other
	}
}

// char reads a byte of a string.
func (r *actReader) char(c byte) {
	switch {
	case r.unit != "":
		r.unit += string([]byte{c})
		if len(r.unit) == len("u0000") {
			r.endUnit()
		}
	case r.isEscaped && c == 'u':
		r.isEscaped, r.unit = false, "u"
	case r.isEscaped:
		r.isEscaped = false
		r.endHalf()
		if i := strings.IndexByte(`bfnrt"\/`, c); i >= 0 {
			r.text = append(r.text, "\b\f\n\r\t\"\\/"[i])
		} else {
			r.text = append(r.text, '\\', c)
		}
	case c == '\\':
		r.isEscaped = true
	case c == '"':
		r.endHalf()
		r.end()
	default:
		r.endHalf()
		r.text = append(r.text, c)
	}
}

// endUnit reads the unit of UTF-16 of a whole escape.
func (r *actReader) endUnit() {
	code, err := strconv.ParseUint(r.unit[1:], 16, 16)
	unit, escape := rune(code), r.unit
	r.unit = ""
	if whole := utf16.DecodeRune(r.high, unit); err == nil && whole != utf8.RuneError {
		r.high = 0
		r.text = utf8.AppendRune(r.text, whole)
		return
	}
	r.endHalf()
	switch {
	case err != nil:
		r.text = append(append(r.text, '\\'), escape...)
	case unit >= 0xD800 && unit < 0xDC00:
		r.high = unit
	default:
		r.text = utf8.AppendRune(r.text, unit) // the second half alone is U+FFFD
	}
}

// endHalf writes the first half of a character whose second half does not follow.
func (r *actReader) endHalf() {
	if r.high != 0 {
		r.text, r.high = utf8.AppendRune(r.text, utf8.RuneError), 0
	}
}

// end ends a string.
func (r *actReader) end() {
	top := r.top()
	switch r.at {
	case aKey:
		top.key = string(r.text)
	case aName:
		r.name(string(r.text))
	case ofAct:
		r.finish()
	}
	r.at, r.inString = other, false
}

// name notes the name of the act, whose text may have come before it.
func (r *actReader) name(name string) {
	top := r.top()
	if top.act != "" || fieldOf(name) == "" {
		return
	}
	top.act = name
	text := top.content
	if name == effect.Vote {
		text = top.reason
	}
	if len(text) > 0 {
		r.say(name, string(text))
		r.isDone = true
	}
}

// value reads a byte of a value with a schema, without the white space outside of strings.
func (r *actReader) value(c byte) {
	switch {
	case r.isEscaped:
		r.isEscaped = false
	case r.inString:
		r.isEscaped = c == '\\'
		r.inString = c != '"'
	case c == ' ' || c == '\t' || c == '\r' || c == '\n':
		return
	case c == '"':
		r.inString = true
	case c == '{' || c == '[':
		r.depth++
	case c == '}' || c == ']':
		r.depth--
	}
	r.text = append(r.text, c)
	if r.depth == 0 {
		r.finish()
		r.at = other
	}
}

// finish ends the act's text.
func (r *actReader) finish() {
	r.flush()
	r.isDone = r.levels[r.top().owner].act != ""
}

// flush says the piece of the act's text, or keeps it until the act is known.
func (r *actReader) flush() {
	owner := &r.levels[r.top().owner]
	switch {
	case len(r.text) == 0:
	case owner.act != "":
		r.say(owner.act, string(r.text))
	case r.field == "content":
		owner.content = append(owner.content, r.text...)
	default:
		owner.reason = append(owner.reason, r.text...)
	}
	r.text = r.text[:0]
}
