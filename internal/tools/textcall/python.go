package textcall

import (
	"encoding/json"
	"regexp"
	"strings"
)

// python matches the beginning of a call in Python, or of a list of such calls.
var python = regexp.MustCompile(`^(\[\s*)?(print\(\s*)?([A-Za-z_][\w.:/-]{0,100})\s*\(`)

// namesPython reports whether a text begins as a call of one of the tools in Python.
func namesPython(text string, tools []Tool) bool {
	m := python.FindStringSubmatch(text)
	if m == nil {
		return false
	}
	_, ok := find(m[3], tools)
	return ok
}

// readPython reads a call such as search(q="sun"), or a list of calls. length is 0 if the text cannot be
// read; isCut reports whether it ends before the call.
func readPython(text string, tools []Tool) (calls []Call, length int, isCut bool) {
	l := &literal{text: text}
	isList := l.takes("[")
	for {
		call, ok := l.call(tools)
		if !ok {
			return nil, 0, l.at == len(text)
		}
		calls = append(calls, call)
		if !isList {
			return calls, l.at, false
		}
		if l.takes(",") && !l.takes("]") {
			continue
		}
		if !l.takes("]") && text[l.at-1] != ']' {
			return nil, 0, l.at == len(text)
		}
		if strings.HasPrefix(l.rest(), "(") {
			return nil, 0, false // a link in Markdown
		}
		return calls, l.at, false
	}
}

// call reads one call. Arguments without a name are those that the tool requires, in order.
func (l *literal) call(tools []Tool) (call Call, ok bool) {
	isPrinted := l.takes("print(")
	l.skipSpaces()
	m := python.FindStringSubmatch(l.rest())
	if m == nil || m[1] != "" || m[2] != "" {
		return Call{}, false
	}
	tool, ok := find(m[3], tools)
	if !ok {
		return Call{}, false
	}
	l.at += len(m[0])
	var fields object
	free := tool.required()
	for !l.takes(")") {
		l.skipSpaces()
		key := keyword.FindStringSubmatch(l.rest())
		switch {
		case key != nil:
			l.at += len(key[0])
			fields.addTo(key[1], l)
		case len(free) > 0:
			fields.addTo(free[0], l)
			free = free[1:]
		default:
			return Call{}, false
		}
		if fields[len(fields)-1] == "" {
			return Call{}, false
		}
		if l.takes(",") {
			continue
		}
		if !l.takes(")") {
			return Call{}, false
		}
		break
	}
	return Call{tool.Name, fields.String()}, !isPrinted || l.takes(")")
}

// keyword matches the name of an argument and its sign.
var keyword = regexp.MustCompile(`^([A-Za-z_]\w*)\s*=`)

// addTo adds the next value under a key; an empty field if there is none.
func (o *object) addTo(key string, l *literal) {
	value, ok := l.value()
	if !ok {
		*o = append(*o, "")
		return
	}
	o.add(key, value)
}

// required returns the names of the tool's required arguments.
func (t Tool) required() []string {
	var schema struct {
		Required []string `json:"required"`
	}
	_ = json.Unmarshal(t.Schema, &schema) // a schema without required arguments has no order
	return schema.Required
}

// gemma matches the beginning of a call without its marks, such as call:search{q:sun}.
var gemma = regexp.MustCompile(`^call:([\w.:/-]{1,100})\{`)

// namesGemma reports whether a text begins as a call of one of the tools in Gemma's form.
func namesGemma(text string, tools []Tool) bool {
	m := gemma.FindStringSubmatch(text)
	if m == nil {
		return false
	}
	_, ok := find(m[1], tools)
	return ok
}

// readLoose reads an object whose keys, and some of whose texts, have no quotes.
func readLoose(text string) (value string, length int) {
	l := &literal{text: text, isLoose: true}
	value, ok := l.value()
	if !ok {
		return "", 0
	}
	return value, l.at
}
