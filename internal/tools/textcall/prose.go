package textcall

import (
	"regexp"
	"slices"
	"strings"
)

// Prose returns the length of the part of a growing text that may be shown, because no call can begin in it. isStart
// is true for the beginning of a message, and exists reports whether a tool exists. If mayCall is true, a call may begin
// behind the part: only the whole message shows whether it does.
func Prose(text string, isStart bool, exists func(name string) bool) (length int, mayCall bool) {
	if isStart {
		if isDecided, isCall := leading(text, exists); !isDecided || isCall {
			return 0, isCall
		}
	}
	length = len(text)
	if m := marked.FindStringIndex(text); m != nil {
		length, mayCall = m[0], true
	}
	for _, m := range pythonInside.FindAllStringSubmatchIndex(text[:length], -1) {
		if _, ok := Name(text[m[2]:m[3]], exists); ok {
			length, mayCall = m[0], true
			break
		}
	}
	if m := unfinished.FindStringIndex(text[:length]); m != nil {
		length = m[0]
	}
	for at := 0; ; at++ {
		next := strings.IndexByte(text[at:length], '{')
		if next < 0 {
			return length, mayCall
		}
		at += next
		if isDecided, isCall := objectCalls(text[at:], exists); !isDecided || isCall {
			return at - len(beforeObject.FindString(text[:at])), isCall
		}
	}
}

var (
	marked = regexp.MustCompile(mark)
	// unfinished matches the beginning of a mark, or of a fence or a list before a call, at the end of a text.
	unfinished = regexp.MustCompile(`(?:<[^<>\s]{0,60}(?:\s+[a-z]{0,4})?|<` + namespace + `(?:` + tag + `|tools)>\s*(?:[\w.:-]+\s*)?|` +
		`<\|(?:start|channel)\|>[^\n]{0,60}|` + "(?:`{1,3}\\w*\\s*|" + inside + `)` + begunPython + `|` + begunWord("functools[") + `|(?:commentary|analysis)?\s*` + begunWord("to=functions.") + `)$`)
	// pythonInside matches a call in Python between prose, up to its arguments; pythonFirst matches one at the
	// beginning of a message, or one in Gemma's form.
	pythonInside = regexp.MustCompile(inside + `(?:print\(\s*)?(` + pythonName + `)\s*\(`)
	pythonFirst  = regexp.MustCompile("^(?:```\\w*\\s*)?(?:\\[\\s*)?(?:(?:print\\(\\s*)?(" + pythonName + `)\s*\(|call:([\w.:/-]{1,100})\{)`)
	beforeObject = regexp.MustCompile("(?:```\\w*\\s*)?(?:\\[\\s*)?$")
)

const (
	pythonName = `[A-Za-z_][\w.:/-]{0,100}`
	// inside matches where a call in Python may begin between prose.
	inside = "(?:```\\w*\\s*(?:\\[\\s*)?|\\[\\s*)"
	// begunPython matches a call in Python that may still come.
	begunPython = `(?:print\(\s*)?(?:` + pythonName + `\s*)?`
)

// begunWord matches each proper beginning of a word.
func begunWord(word string) string {
	pattern := ""
	for i := len(word) - 2; i >= 0; i-- {
		pattern = regexp.QuoteMeta(word[i:i+1]) + "(?:" + pattern + ")?"
	}
	return pattern
}

// leading reads the beginning of a message, where a call of any form may stand.
func leading(text string, exists func(name string) bool) (isDecided, isCall bool) {
	text = strings.TrimLeft(text, " \t\r\n")
	for _, role := range []string{"assistantcommentary", "assistantanalysis", "assistant", "commentary", "analysis"} {
		if strings.HasPrefix(role+" to=functions.", strings.Join(strings.Fields(text), " ")) {
			return false, false
		}
	}
	if callAlone.MatchString(text) {
		return true, true
	}
	if m := pythonFirst.FindStringSubmatch(text); m != nil {
		if _, ok := Name(m[1]+m[2], exists); ok {
			return true, true
		}
	}
	return !maybeAlone.MatchString(text), false
}

var (
	callAlone  = regexp.MustCompile("^(?:```\\w*\\s*)?(?:\\[\\s*)?\\{|^```(?:\\w*\\s*<|tool_code\\s)")
	maybeAlone = regexp.MustCompile("^(?:`{1,2}|(?:```\\w*\\s*)?(?:\\[\\s*)?" + begunPython + `)$`)
)

// longestBegin is how many bytes of an object show that it is no call.
const longestBegin = 160

// objectBegin matches an object up to its first value.
var objectBegin = regexp.MustCompile(`^\{\s*"([^"\\]*)"\s*:\s*(?:"([^"\\]{0,100})"|(\{)|[^"\s{])`)

// objectCalls reads the beginning of an object between prose.
func objectCalls(text string, exists func(name string) bool) (isDecided, isCall bool) {
	text = text[:min(len(text), longestBegin)]
	m := objectBegin.FindStringSubmatch(text)
	if m == nil {
		rest := strings.TrimLeft(text[1:], " \t\r\n")
		return len(text) == longestBegin || rest != "" && rest[0] != '"', false
	}
	key := m[1]
	switch {
	case exists(key), slices.Contains(strings.Fields(ArgumentKeys+" agent_id content reason"), key):
		return true, true
	case m[3] != "":
		return true, slices.Contains(strings.Fields(wraps), key)
	case slices.Contains(strings.Fields(NameKeys), key):
		_, isCall = Name(m[2], exists)
		return true, isCall
	}
	return true, false
}
