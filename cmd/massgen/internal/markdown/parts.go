package markdown

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// part is a piece of a text: a list, a quote, or blocks that the parser reads. The parser knows
// neither the number that a list begins with nor code and paragraphs in an item, so lists are
// read here, by CommonMark's rule: what is indented as far as an item's text belongs to it.
type part struct {
	kind    partKind
	text    string // of a quote, without its marks, or of blocks for the parser
	items   []item
	isLoose bool // of a list: blank lines separate its items
}

type partKind int

const (
	parsed partKind = iota
	quote
	list
)

// item is one item of a list, as a text of its own, with the mark before it.
type item struct{ mark, text string }

// parter divides a text into parts. Its regular expressions are compiled once for each Drawer.
type parter struct {
	marks, rules, targets, names, fences, rulers, pieces *regexp.Regexp
}

func newParter() parter {
	return parter{
		marks:   regexp.MustCompile(`^( *)(?:[-+*]|([0-9]{1,18})([.)]))( +)`),
		rules:   regexp.MustCompile(`^ {0,3}(?:(?:\* *){3,}|(?:- *){3,}|(?:_ *){3,})\n?$`),
		targets: regexp.MustCompile(`^ {0,3}\[([^\[\]]+)\]: *\S+(?: +(?:"[^"]*"|'[^']*'|\([^()]*\)))? *\n?$`),
		names:   regexp.MustCompile(`\[([^\[\]]+)\]`),
		fences:  regexp.MustCompile("^ *(`{3,}|~{3,})(.*)"),
		rulers:  regexp.MustCompile(`^ *\|?(?: *:?-+:? *\|)+(?: *:?-+:? *)?\n?$`),
		pieces:  pieces(),
	}
}

// deepest is how far an item that is not in a list may be indented: beyond that, it is code.
const deepest = 3

// parts returns the parts of a text in their order.
func (p parter) parts(text string) (found []part) {
	var between strings.Builder
	flush := func() {
		if strings.TrimSpace(between.String()) != "" {
			found = append(found, part{text: between.String()})
		}
		between.Reset()
	}
	lines := strings.SplitAfter(text, "\n")
	fence := ""
	for at := 0; at < len(lines); {
		var next part
		n := 0
		if fence == "" {
			if next, n = p.list(lines[at:]); n == 0 {
				next, n = p.quote(lines[at:])
			}
		}
		if n > 0 {
			flush()
			found = append(found, next)
			at += n
			continue
		}
		fence = p.fenced(fence, lines[at])
		between.WriteString(lines[at])
		at++
	}
	flush()
	return found
}

// fenced returns the fence that is open after a line, "" for none. before is the fence that is open
// before the line.
func (p parter) fenced(before, line string) string {
	found := p.fences.FindStringSubmatch(line)
	switch {
	case found == nil:
		return before
	case before == "" && (found[1][0] == '~' || !strings.Contains(found[2], "`")):
		return found[1]
	case before != "" && strings.HasPrefix(found[1], before) && strings.TrimSpace(found[2]) == "":
		return ""
	}
	return before
}

// mark is the beginning of an item. Column is where its text begins.
type mark struct {
	indent, column int
	number         int
	end            string // . or ) behind a number, "" for a bullet
}

func (p parter) mark(line string) (m mark, ok bool) {
	found := p.marks.FindStringSubmatch(line)
	if found == nil || p.rules.MatchString(line) {
		return m, false
	}
	const mostBlanks = 4 // more are code in the item
	m = mark{indent: len(found[1]), column: len(found[0]), end: found[3]}
	if blanks := len(found[4]); blanks > mostBlanks {
		m.column -= blanks - 1
	}
	m.number, _ = strconv.Atoi(found[2]) // a bullet has none
	return m, true
}

// list reads the list at the beginning of the lines. n is how many lines it has, 0 without a list.
func (p parter) list(lines []string) (of part, n int) {
	first, ok := p.mark(lines[0])
	if !ok || first.indent > deepest {
		return of, 0
	}
	of.kind = list
	for n < len(lines) {
		m, ok := p.mark(lines[n])
		if !ok || m.end != first.end || m.indent > first.column {
			break
		}
		next := item{mark: "• "}
		if m.end != "" {
			next.mark = fmt.Sprintf("%d%s ", first.number+len(of.items), m.end)
		}
		text, taken, endsBlank := p.item(m, lines[n:])
		next.text = text
		of.items = append(of.items, next)
		n += taken
		if endsBlank && n < len(lines) {
			after, isItem := p.mark(lines[n])
			of.isLoose = of.isLoose || isItem && after.end == first.end
		}
	}
	return of, n
}

// item reads the text of the item at the beginning of the lines. n is how many lines it has, with the
// blank ones after it.
func (p parter) item(m mark, lines []string) (text string, n int, endsBlank bool) {
	var b strings.Builder
	first := lines[0][m.column:]
	b.WriteString(first)
	fence := p.fenced("", first)
	for n = 1; n < len(lines); n++ {
		line := lines[n]
		blanks := indent(line)
		switch {
		case strings.TrimSpace(line) == "":
			endsBlank = true
			b.WriteString("\n")
			continue
		case fence != "": // also where the code is indented less than its fence
		case blanks >= m.column:
		case endsBlank || p.begins(line):
			if _, isItem := p.mark(line); !isItem || blanks < m.indent+2 {
				return b.String(), n, endsBlank
			}
			m.column = blanks // models indent a list in an item by two, whatever its mark
		}
		line = line[min(blanks, m.column):]
		fence = p.fenced(fence, line)
		endsBlank = false
		b.WriteString(line)
	}
	return b.String(), n, endsBlank
}

// hasBlank reports whether a text has a blank line that is not code.
func (p parter) hasBlank(text string) bool {
	fence := ""
	for line := range strings.Lines(text) {
		if fence == "" && line == "\n" {
			return true
		}
		fence = p.fenced(fence, line)
	}
	return false
}

// begins reports whether a line begins a block and does not continue a paragraph.
func (p parter) begins(line string) bool {
	_, isItem := p.mark(line)
	line = strings.TrimLeft(line, " ")
	return isItem || p.fences.MatchString(line) || p.rules.MatchString(line) || strings.HasPrefix(line, ">") || strings.HasPrefix(line, "#") || strings.HasPrefix(line, "|")
}

// quote reads the quote at the beginning of the lines. n is how many lines it has, 0 without a quote.
func (p parter) quote(lines []string) (of part, n int) {
	of.kind = quote
	var b strings.Builder
	for ; n < len(lines); n++ {
		line := strings.TrimLeft(lines[n], " ")
		inside, isQuoted := strings.CutPrefix(line, ">")
		switch {
		case isQuoted && indent(lines[n]) <= deepest:
			line = strings.TrimPrefix(inside, " ")
		case n == 0 || strings.TrimSpace(line) == "" || p.begins(line):
			of.text = b.String()
			return of, n
		}
		b.WriteString(line)
	}
	of.text = b.String()
	return of, n
}

// targets are the lines with the targets of links, by the names of the links in lower case.
type targets map[string]string

// add adds a line if it is the target of a link, and reports whether it is one.
func (t targets) add(p parter, line string) bool {
	found := p.targets.FindStringSubmatch(line)
	if found == nil {
		return false
	}
	if name := strings.ToLower(found[1]); t[name] == "" { // the first one counts
		t[name] = strings.TrimSuffix(line, "\n") + "\n"
	}
	return true
}

// targetsOf returns the targets of the links of a text.
func (p parter) targetsOf(text string) targets {
	found := targets{}
	for line := range strings.Lines(text) {
		found.add(p, line)
	}
	return found
}

func indent(line string) int { return len(line) - len(strings.TrimLeft(line, " ")) }
