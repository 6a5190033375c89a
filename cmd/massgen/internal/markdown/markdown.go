// Package markdown draws Markdown for a terminal.
//
// The program contains the parser anyway. Libraries that draw Markdown colour code by Chroma, whose tables
// cost each start of the program ten milliseconds.
package markdown

import (
	"cmp"
	"strings"

	"github.com/charmbracelet/x/ansi"
	"github.com/russross/blackfriday/v2"

	"github.com/massgen/massgen/internal/system/plain"
)

// The limits of a text that is parsed: its length in bytes, and the parser's steps. Another text is shown as
// it was written. From each bracket, comment and fence the parser may read to the end of the text, so the
// steps are quadratic, and nothing ends the parser.
const (
	mostText  = 64 << 10
	mostSteps = 256 << 20
)

// steps returns about how many steps the parser takes for a text. Brackets in code take none.
func (p parter) steps(text string) int {
	marks, fence := 0, ""
	for line := range strings.Lines(text) {
		before := fence
		if fence = p.fenced(fence, line); fence != before {
			marks++
		}
		if fence == "" {
			marks += strings.Count(line, "[") + strings.Count(line, "<!--")
		}
	}
	return marks * len(text)
}

// Drawer draws texts. It may be used concurrently.
type Drawer struct {
	isColoured bool
	parter     parter
}

// NewDrawer returns a Drawer that draws in colours that are readable on light and dark, or without any: then marks such
// as # and ` stay.
func NewDrawer(isColoured bool) *Drawer { return &Drawer{isColoured, newParter()} }

// Plain returns a Drawer without colours.
func (d *Drawer) Plain() *Drawer { return &Drawer{false, d.parter} }

// Render draws a text in lines of at most width columns, as NewDrawer says. Nothing in the text reaches the terminal as a
// control sequence. It may be called concurrently.
func Render(text string, width int, isColoured bool) []string {
	return NewDrawer(isColoured).render(text, nil, width)
}

// render draws a text. Others are the targets of links that other texts have.
func (d *Drawer) render(text string, others targets, width int) (lines []string) {
	width = max(width, 8)
	text = harmless(text)
	asWritten := func() []string { return layOut([]span{{text: text}}, width, d.isColoured) }
	if len(text) > mostText {
		return asWritten()
	}
	defer func() {
		if recover() != nil { // a fault of the parser must not cost the answer
			lines = asWritten()
		}
	}()
	if d.parter.steps(text) > mostSteps {
		return asWritten()
	}
	return trimmed(joined(drawer{d.isColoured, d.parter, [2]targets{others, d.parter.targetsOf(text)}}.groups(text, width, 0), beforeAll))
}

// harmless returns a text without characters that control a terminal.
func harmless(text string) string {
	lines := strings.Split(strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\t", "    "), "\n")
	for i, line := range lines {
		lines[i] = plain.Line(line)
	}
	return strings.Join(lines, "\n")
}

// trimmed removes blank lines from both ends.
func trimmed(lines []string) []string {
	for len(lines) > 0 && lines[0] == "" {
		lines = lines[1:]
	}
	for len(lines) > 0 && lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	return lines
}

// drawer draws the parts and nodes of a text, with the targets of other texts and its own.
type drawer struct {
	isColoured bool
	parter     parter
	targets    [2]targets
}

// group has the lines of one block.
type group struct {
	lines  []string
	isList bool
}

// mostDepth limits how deep lists and quotes are nested, and leastWidth how narrow they get. Beyond that a
// text is shown as it was written.
const (
	mostDepth  = 16
	leastWidth = 4
)

// groups draws the blocks of a text.
func (d drawer) groups(text string, width, depth int) (groups []group) {
	if depth > mostDepth {
		return []group{{lines: layOut([]span{{text: text}}, width, d.isColoured)}}
	}
	for _, p := range d.parter.parts(text) {
		switch p.kind {
		case list:
			groups = append(groups, group{d.list(p, width, depth), true})
		case quote:
			groups = append(groups, group{d.framed("│ ", "│ ", p.text, width, depth, beforeAll), false})
		default:
			groups = append(groups, d.parse(p.text, width)...)
		}
	}
	return groups
}

// used returns the lines with the targets of the links that a text has.
func (d drawer) used(text string) string {
	if len(d.targets[0])+len(d.targets[1]) == 0 {
		return ""
	}
	var b strings.Builder
	taken := map[string]bool{}
	for _, found := range d.parter.names.FindAllStringSubmatch(text, -1) {
		name := strings.ToLower(found[1])
		if line := cmp.Or(d.targets[0][name], d.targets[1][name]); line != "" && !taken[name] {
			taken[name] = true
			b.WriteString(line)
		}
	}
	return b.String()
}

// parse draws blocks without lists and quotes.
func (d drawer) parse(text string, width int) (groups []group) {
	if used := d.used(text); used != "" {
		text = strings.TrimRight(text, "\n") + "\n\n" + used
	}
	const extensions = blackfriday.CommonExtensions&^(blackfriday.HeadingIDs|blackfriday.DefinitionLists) | blackfriday.NoEmptyLineBeforeBlock
	root := blackfriday.New(blackfriday.WithExtensions(extensions)).Parse([]byte(text))
	for n := root.FirstChild; n != nil; n = n.Next {
		if lines := d.block(n, width); len(lines) > 0 {
			groups = append(groups, group{lines: lines})
		}
	}
	return groups
}

// framed draws a text with a mark before its first line and another one before the others.
func (d drawer) framed(first, others, text string, width, depth int, blank blanks) []string {
	room := width - ansi.StringWidth(first)
	if room < leastWidth {
		return layOut([]span{{text: first + strings.TrimRight(text, "\n")}}, width, d.isColoured)
	}
	return prefixed(first, others, trimmed(joined(d.groups(text, room, depth+1), blank)))
}

// blanks tells which blocks after the first have a blank line before them.
type blanks int

const (
	beforeNone  blanks = iota // in an item
	beforeTexts               // in an item with paragraphs: all but lists
	beforeAll
)

// joined returns the lines of several blocks.
func joined(groups []group, blank blanks) (lines []string) {
	for i, g := range groups {
		if i > 0 && (blank == beforeAll || blank == beforeTexts && !g.isList) {
			lines = append(lines, "")
		}
		lines = append(lines, g.lines...)
	}
	return lines
}

func (d drawer) block(n *blackfriday.Node, width int) (lines []string) {
	switch n.Type {
	case blackfriday.Heading:
		return d.heading(n, width)
	case blackfriday.CodeBlock:
		return d.code(n, width)
	case blackfriday.List, blackfriday.Item, blackfriday.BlockQuote: // not where parts finds none
		for child := n.FirstChild; child != nil; child = child.Next {
			lines = append(lines, d.block(child, width)...)
		}
		return lines
	case blackfriday.HorizontalRule:
		return []string{strings.Repeat("─", width)}
	case blackfriday.Table:
		return d.table(n, width)
	case blackfriday.HTMLBlock:
		return layOut([]span{{text: strings.TrimRight(string(n.Literal), "\n")}}, width, d.isColoured)
	}
	return layOut(d.inline(n, 0), width, d.isColoured)
}

func (d drawer) heading(n *blackfriday.Node, width int) []string {
	spans := d.inline(n, bold)
	if !d.isColoured || n.Level > 2 {
		spans = append([]span{{text: strings.Repeat("#", n.Level) + " ", style: bold}}, spans...)
	}
	return layOut(spans, width, d.isColoured)
}

func (d drawer) code(n *blackfriday.Node, width int) (lines []string) {
	language, _, _ := strings.Cut(string(n.Info), " ")
	h := highlighter{commentsOf(language), d.parter.pieces, words()}
	for line := range strings.SplitSeq(strings.TrimRight(string(n.Literal), "\n"), "\n") {
		spans := []span{{text: line, style: code}}
		if d.isColoured {
			spans = h.parted(line)
		}
		lines = append(lines, hardWrapped(spans, width-2, d.isColoured)...)
	}
	return prefixed("  ", "  ", lines)
}

func (d drawer) list(of part, width, depth int) (lines []string) {
	for _, it := range of.items {
		text := strings.TrimRight(it.text, "\n")
		hasBlank, blank := d.parter.hasBlank(text), beforeNone
		if of.isLoose || hasBlank {
			blank = beforeTexts
		}
		part := d.framed(it.mark, strings.Repeat(" ", len([]rune(it.mark))), text, width, depth, blank)
		if len(lines) > 0 && (of.isLoose && len(part) > 1 || hasBlank) {
			lines = append(lines, "")
		}
		lines = append(lines, part...)
	}
	return lines
}

// inline returns the spans of a node's text.
func (d drawer) inline(parent *blackfriday.Node, s style) (spans []span) {
	for n := parent.FirstChild; n != nil; n = n.Next {
		switch n.Type {
		case blackfriday.Strong:
			spans = append(spans, d.inline(n, s|bold)...)
		case blackfriday.Emph:
			spans = append(spans, d.inline(n, s|italic)...)
		case blackfriday.Del:
			spans = append(spans, d.inline(n, s|struck)...)
		case blackfriday.Code:
			text := string(n.Literal)
			if !d.isColoured {
				text = "`" + text + "`"
			}
			spans = append(spans, span{text, s | code})
		case blackfriday.Link, blackfriday.Image:
			spans = append(spans, d.link(n, s)...)
		case blackfriday.Hardbreak:
			spans = append(spans, span{"\n", s})
		case blackfriday.Softbreak:
			spans = append(spans, span{" ", s})
		case blackfriday.Paragraph:
			spans = append(spans, d.inline(n, s)...)
		default:
			spans = append(spans, span{strings.ReplaceAll(string(n.Literal), "\n", " "), s})
		}
	}
	return spans
}

// link shows a link's words, and its address after them if it is different.
func (d drawer) link(n *blackfriday.Node, s style) []span {
	spans := d.inline(n, s|link)
	address := harmless(string(n.Destination))
	var words strings.Builder
	for _, w := range spans {
		words.WriteString(w.text)
	}
	if words.String() == address || "mailto:"+words.String() == address {
		return spans
	}
	return append(spans, span{" (" + address + ")", s})
}

// prefixed puts a mark before the first line, and another one before the others.
func prefixed(first, others string, lines []string) []string {
	list := make([]string, len(lines))
	for i, line := range lines {
		mark := others
		if i == 0 {
			mark = first
		}
		list[i] = strings.TrimRight(mark+line, " ")
	}
	if len(list) == 0 {
		return []string{strings.TrimRight(first, " ")}
	}
	return list
}
