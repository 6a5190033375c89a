package textcall

import (
	"regexp"
	"slices"
	"strings"

	"github.com/massgen/massgen/internal/system/plain"
)

// group is a run of calls at the beginning of a text, between marks.
type group struct {
	tools []Tool
	text  string
	at    int
	calls []Call
	// isMarked reports whether a mark precedes the calls, and isOpen whether a mark has opened a call that was not
	// read yet.
	isMarked, isOpen bool
	// isFenced reports whether a fence between the marks is open.
	isFenced bool
	// isFirst reports whether nothing but white space precedes the calls in the text, or in its code block. There a call
	// in Python counts without a mark.
	isFirst  bool
	isBroken bool
	// unclosed is the reader's.
	unclosed *int
}

// token matches a mark of a model's own markup, or of the end of its message.
var token = regexp.MustCompile(`^(?:<\|/?[^<>|\s]{0,40}\|?>|<\w{1,40}\|>|<｜[^<>｜\s]{0,40}｜>|</s>|functools|` +
	`<(?:start|end)_function_call>|</?` + namespace + `(?:` + tag + `|functions?|tools?|invoke)>|` +
	`\[/?(?:TOOL_CALLS?|TOOL_REQUEST|END_TOOL_REQUEST|ARGS)\]|\[CALL_ID\]\w*)`)

// opening matches the tokens that a call has to follow.
var opening = regexp.MustCompile(`^(?:` + mark + `)`)

// ending matches the tokens that end a call, or several.
var ending = regexp.MustCompile(`^<[|｜]?/|end`)

// read reads calls until something else follows.
func (g *group) read() {
	for !g.isBroken {
		g.at += len(blank.FindString(g.text[g.at:]))
		rest := g.text[g.at:]
		if mark := token.FindString(rest); mark != "" {
			g.isMarked = true
			g.isOpen = g.isOpen || opening.MatchString(rest) && !ending.MatchString(mark)
			g.at += len(mark)
			continue
		}
		if fence := fenceStart.FindString(rest); fence != "" && (g.isOpen || g.isFenced) {
			g.isFenced = !g.isFenced
			g.at += len(fence)
			continue
		}
		call := g.next(rest)
		if call == 0 {
			break
		}
		g.at += call
	}
	g.isBroken = g.isBroken || g.isOpen
}

// next reads the calls of one form, and returns their length, 0 if there are none.
func (g *group) next(rest string) int {
	var calls []Call
	length := 0
	switch {
	case namesPython(rest, g.tools) && (g.isOpen || g.isFirst || rest[0] == '['):
		return g.nextPython(rest)
	case strings.HasPrefix(rest, "{"), strings.HasPrefix(rest, "["):
		return g.nextJSON(rest)
	case function.MatchString(rest):
		g.isOpen = true
		calls, length = readFunction(rest, g.tools)
	case g.isOpen:
		calls, length = readNamed(rest, g.tools)
	}
	return g.add(calls, length)
}

// nextPython is next for calls in Python. A list of calls in the middle of a text counts only for acts.
func (g *group) nextPython(rest string) int {
	if *g.unclosed > maxUnclosed {
		return 0
	}
	calls, length, isCut := readPython(rest, g.tools)
	if isCut {
		*g.unclosed++
	}
	if length == 0 {
		g.isBroken = g.isFirst && (isCut || isCallAlone(rest))
		return 0
	}
	if !g.isMarked && !g.isFirst && !onlyActs(calls, g.tools) {
		return 0
	}
	return g.add(calls, length)
}

// isCallAlone reports whether a text ends as a call does.
func isCallAlone(text string) bool {
	text, _, _ = strings.Cut(text, "```")
	text = strings.TrimRight(text, " \t\r\n")
	return strings.HasSuffix(text, ")") && text[0] != '[' || strings.HasSuffix(text, ")]")
}

// nextJSON is next for a JSON value. A value that is no call ends the group; if it stands first, it counts as read.
func (g *group) nextJSON(rest string) int {
	if *g.unclosed > maxUnclosed {
		return 0
	}
	value, length := plain.MendJSON(rest)
	if length == 0 {
		*g.unclosed++
	}
	if calls, ok := callsIn(value, g.tools, g.isMarked); ok {
		return g.add(calls, length)
	}
	g.isBroken = value == "" && names(rest, g.tools)
	if len(g.calls) == 0 && !g.isOpen {
		g.at += length
	}
	return 0
}

func (g *group) add(calls []Call, length int) int {
	if len(calls) == 0 {
		return 0
	}
	g.calls, g.isOpen = append(g.calls, calls...), false
	return length
}

// function matches the tag of a call whose arguments are tags or a JSON object.
var function = regexp.MustCompile(`^<` + namespace + `(?:function|invoke)(?:=|\s+name\s*=\s*)["']?([^"'<>\s]+)["']?\s*>`)

var (
	functionEnd = regexp.MustCompile(`^\s*</` + namespace + `(?:function|invoke)>`)
	parameter   = regexp.MustCompile(`^\s*<` + namespace + `parameter(?:=|\s+name\s*=\s*)["']?([^"'<>\s]+)["']?(?:\s+\w+\s*=\s*"[^"<>]*")*\s*>`)
	// parameterEnd matches the end of a value, also where its own tag lacks one.
	parameterEnd = regexp.MustCompile(`</` + namespace + `parameter>|<` + namespace + `parameter(?:=|\s+name\s*=)|</` + namespace + `(?:function|invoke)>`)
)

// readFunction reads a call such as <function=vote><parameter=agent_id>agent1</parameter></function>.
func readFunction(text string, tools []Tool) ([]Call, int) {
	m := function.FindStringSubmatch(text)
	tool, ok := find(m[1], tools)
	if !ok {
		return nil, 0
	}
	at := len(m[0])
	body := strings.TrimLeft(text[at:], " \t\r\n")
	if strings.HasPrefix(body, "{") {
		value, length := plain.MendJSON(body)
		if value == "" {
			return nil, 0
		}
		at = len(text) - len(body) + length
		return []Call{{tool.Name, value}}, at + len(functionEnd.FindString(text[at:]))
	}
	var fields object
	for {
		m := parameter.FindStringSubmatch(text[at:])
		if m == nil {
			break
		}
		at += len(m[0])
		end := parameterEnd.FindStringIndex(text[at:])
		if end == nil {
			return nil, 0 // the message was cut
		}
		fields.add(m[1], tool.typed(m[1], oneLineLess(text[at:at+end[0]])))
		at += end[0]
		if strings.HasSuffix(text[at-end[0]:][:end[1]], "parameter>") {
			at += end[1] - end[0]
		}
	}
	ending := functionEnd.FindString(text[at:])
	if ending == "" && len(fields) == 0 {
		return nil, 0
	}
	return []Call{{tool.Name, fields.String()}}, at + len(ending)
}

// oneLineLess returns a value without the line ends that its tags bring along.
func oneLineLess(value string) string {
	value = strings.TrimPrefix(strings.TrimPrefix(value, "\r"), "\n")
	return strings.TrimSuffix(strings.TrimSuffix(value, "\n"), "\r")
}

var (
	word = regexp.MustCompile("^[^\\s<>{}\\[\\]\"'`|｜]+")
	pair = regexp.MustCompile(`(?s)^\s*<arg_key>(.*?)</arg_key>\s*<arg_value>(.*?)</arg_value>`)
)

// fillers has the words that may stand beside the name of a call.
const fillers = "assistant commentary analysis assistantcommentary assistantanalysis function json code"

// maxWords is the most words, marks and fences before the arguments of a call.
const maxWords = 12

// readNamed reads a call whose name stands before its arguments, such as vote{"agent_id":"agent1"} or
// commentary to=functions.vote <|message|>{"agent_id":"agent1"}.
func readNamed(text string, tools []Tool) ([]Call, int) {
	var tool Tool
	isNamed, at := false, 0
	for range maxWords {
		at += len(blank.FindString(text[at:]))
		rest := text[at:]
		switch {
		case strings.HasPrefix(rest, "{") && isNamed:
			value, length := plain.MendJSON(rest)
			if value == "" {
				value, length = readLoose(rest)
			}
			if value == "" {
				return nil, 0
			}
			return []Call{{tool.Name, value}}, at + length + len(fenceEnd.FindString(rest[length:]))
		case strings.HasPrefix(rest, "<arg_key>") && isNamed:
			fields, length := pairs(rest, tool)
			if len(fields) == 0 {
				return nil, 0
			}
			return []Call{{tool.Name, fields.String()}}, at + length
		case strings.HasPrefix(rest, "</") && isNamed:
			return []Call{{tool.Name, "{}"}}, at
		case strings.HasPrefix(rest, "```"):
			at += len("```")
			continue
		}
		if mark := token.FindString(rest); mark != "" {
			at += len(mark)
			continue
		}
		w := word.FindString(rest)
		at += len(w)
		if found, ok := find(w, tools); ok && !isNamed {
			tool, isNamed = found, true
		} else if w == "" || !slices.Contains(strings.Fields(fillers), w) {
			return nil, 0
		}
	}
	return nil, 0
}

var (
	fenceStart = regexp.MustCompile("^```\\w*")
	fenceEnd   = regexp.MustCompile("^\\s*```")
)

// pairs reads arguments in pairs of tags.
func pairs(text string, tool Tool) (fields object, length int) {
	for {
		m := pair.FindStringSubmatch(text[length:])
		if m == nil {
			return fields, length
		}
		key := strings.TrimSpace(m[1])
		fields.add(key, tool.typed(key, oneLineLess(m[2])))
		length += len(m[0])
	}
}
