package textcall

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
)

// Tool is a tool that a text may call.
type Tool struct {
	Name string
	// Schema is the JSON Schema of the arguments.
	Schema json.RawMessage
	// IsAct marks a tool that ends its agent's step. Prose may stand around its call, and its arguments beside its
	// name.
	IsAct bool
	// Withheld marks a tool that is not on offer. A text that calls it is markup, and calls nothing.
	Withheld bool
}

// Call is a call of a tool. Arguments is JSON, unless the model wrote other arguments.
type Call struct{ Name, Arguments string }

// Reading is the content of a text.
type Reading struct {
	// Calls are the calls of the text, in order. Prose is the text around them, or the whole text if there are none.
	Calls []Call
	Prose string
	// HasMarkup reports whether the text contains a call that does not count: its tool is not on offer, its form is
	// broken, or prose stands around it. Then Calls is empty.
	HasMarkup bool
}

// Read reads a text. A code block, and a code span, with anything else than calls is prose.
func Read(text string, tools []Tool) Reading {
	r := reader{text: text, tools: tools}
	r.scan()
	prose := strings.TrimSpace(r.prose.String())
	counts := func(c Call) bool {
		t, _ := find(c.Name, tools)
		return !t.Withheld && (t.IsAct || prose == "")
	}
	switch {
	case r.isBroken || slices.ContainsFunc(r.calls, func(c Call) bool { return !counts(c) }):
		return Reading{Prose: text, HasMarkup: true}
	case len(r.calls) == 0:
		return Reading{Prose: text, HasMarkup: tagged.MatchString(text)}
	}
	return Reading{Calls: r.calls, Prose: prose}
}

// reader reads a text from its beginning to its end.
type reader struct {
	text  string
	tools []Tool
	calls []Call
	prose strings.Builder
	// hasProse reports whether the prose so far is more than white space.
	hasProse bool
	// isBroken reports whether the text has a call that cannot be read.
	isBroken bool
	// unclosed counts the brackets that nothing closes.
	unclosed int
}

// maxUnclosed is the most brackets without an end after which a text is still searched for calls in JSON, so that the
// work stays linear.
const maxUnclosed = 20

// start matches everything that may begin a call or quote one: a fence, a code span, a JSON value, or a mark.
var start = regexp.MustCompile("(?m)(^[ \t]*```[\\w-]*)|(`+)|([{\\[])|" + mark)

// mark matches how calls begin in models' own markup. The tag tool_call alone is a word that people write, so that a call
// has to follow it.
const mark = `<(?:\|/?|｜)(?:tool|python_tag|python_start|function|action_start)[^<>\s]{0,40}>|` +
	`<` + namespace + `(?:` + tag + `|tools)>(?:\s*\z|\s*[{<\[` + "`" + `]|\s*[\w.:-]+\s*[{<(])|` +
	`<start_function_call>|` +
	`<` + namespace + `(?:function|invoke)(?:=|\s+name\s*=)|` +
	`\[TOOL_(?:CALLS?|REQUEST)\]|functools\[|` +
	`<\|channel\|>\s*\w+\s+to=|(?:<\|start\|>)?(?:assistant)?(?:<\|channel\|>)?(?:commentary|analysis)?\s*to=functions\.`

// tagged matches a text in the tags of a call, whatever stands between them.
var tagged = regexp.MustCompile(`^\s*<` + namespace + tag + `>|</` + namespace + tag + `>\s*$`)

// tag matches the names of tags around a call.
const tag = `(?:tool_?calls?|function_?calls?)`

// namespace matches what may stand before the name of a tag.
const namespace = `(?:[\w.-]{1,20}:|｜DSML｜)?`

// scan collects the calls and the prose of the text, and stops at a call that it cannot read.
func (r *reader) scan() {
	begin := len(blank.FindString(r.text))
	at := 0
	switch whole := r.text[begin:]; {
	case namesGemma(whole, r.tools):
		at = begin + r.group(whole, true)
	case namesPython(whole, r.tools) && whole[0] != '[':
		at = begin + r.group(whole, false)
	}
	for at < len(r.text) && !r.isBroken {
		rest := r.text[at:]
		m := start.FindStringSubmatchIndex(rest)
		if m == nil {
			r.quote(rest, len(rest))
			return
		}
		r.quote(rest, m[0])
		at += m[0]
		rest = rest[m[0]:]
		switch begin := rest[:m[1]-m[0]]; {
		case m[2] >= 0:
			at += r.fence(rest, len(begin))
		case m[4] >= 0:
			at += r.quote(rest, len(codeSpan(rest, begin)))
		default:
			at += r.group(rest, m[6] < 0)
		}
	}
}

// quote takes the first n bytes of the text for prose, and returns their number.
func (r *reader) quote(text string, n int) int {
	r.prose.WriteString(text[:n])
	r.hasProse = r.hasProse || strings.TrimSpace(text[:n]) != ""
	return n
}

// group reads the calls at the beginning of the text, and returns their length.
func (r *reader) group(text string, isMarked bool) int {
	g := group{tools: r.tools, text: text, isMarked: isMarked, isOpen: isMarked, isFirst: !r.hasProse, unclosed: &r.unclosed}
	g.read()
	switch {
	case g.isBroken:
		r.isBroken = true
	case len(g.calls) == 0:
		return r.quote(text, max(g.at, 1))
	}
	r.calls = append(r.calls, g.calls...)
	return max(g.at, 1)
}

// fence reads a code block with calls, or takes it for prose, and returns its length. opening is the length of
// its first fence.
func (r *reader) fence(text string, opening int) int {
	g := group{tools: r.tools, text: text[opening:], isFirst: true, unclosed: &r.unclosed}
	g.read()
	end := opening + g.at
	end += len(blank.FindString(text[end:]))
	if !g.isBroken && len(g.calls) > 0 && (end == len(text) || strings.HasPrefix(text[end:], "```")) {
		end = min(end+3, len(text))
		if onlyActs(g.calls, r.tools) || r.isAlone(text[end:]) {
			r.calls = append(r.calls, g.calls...)
			return end
		}
	}
	isCode := len(r.tools) > 0 && strings.HasSuffix(text[:opening], "```tool_code")
	if r.isBroken = (g.isBroken || isCode) && r.isAlone(""); r.isBroken {
		return len(text)
	}
	return r.quote(text, len(codeBlock(text, opening)))
}

func onlyActs(calls []Call, tools []Tool) bool {
	return !slices.ContainsFunc(calls, func(c Call) bool {
		t, _ := find(c.Name, tools)
		return !t.IsAct
	})
}

// isAlone reports whether a code block is the whole text, apart from other code blocks. rest is the text after it.
func (r *reader) isAlone(rest string) bool {
	rest = strings.TrimLeft(rest, " \t\r\n")
	return !r.hasProse && (rest == "" || strings.HasPrefix(rest, "```"))
}

var blank = regexp.MustCompile(`^[\s;]*`)

// codeBlock returns the code block at the beginning of a text, with both fences.
func codeBlock(text string, opening int) string {
	end := strings.Index(text[opening:], "\n```")
	if end < 0 {
		return text
	}
	return text[:opening+end+len("\n```")]
}

// codeSpan returns the code span at the beginning of a text, or only its mark if nothing in the paragraph ends it.
func codeSpan(text, mark string) string {
	paragraph, _, _ := strings.Cut(text[len(mark):], "\n\n")
	end := strings.Index(paragraph, mark)
	if end < 0 {
		return mark
	}
	return text[:end+2*len(mark)]
}
