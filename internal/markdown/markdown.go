// Package markdown draws Markdown for a terminal.
//
// The parser is the one that the program is linked with anyway. Libraries that draw Markdown
// colour code by Chroma, whose tables cost each start of the program ten milliseconds.
package markdown

import (
	"fmt"
	"strings"

	"github.com/russross/blackfriday/v2"

	"github.com/massgen/massgen/internal/plain"
)

// mostText is how many bytes are parsed. A longer text is shown as it was written: the parser takes
// time by the square of some texts, such as one of brackets alone.
const mostText = 64 << 10

// Render draws a text in lines of at most width columns, with the sixteen colours of a terminal,
// or without any: then marks such as # and ` stay. Nothing in the text reaches the terminal as a
// control sequence. It may be called concurrently.
func Render(text string, width int, isColoured bool) (lines []string) {
	width = max(width, 8)
	text = harmless(text)
	asWritten := func() []string { return layOut([]span{{text: text}}, width, isColoured) }
	if len(text) > mostText {
		return asWritten()
	}
	defer func() {
		if recover() != nil { // a fault of the parser costs nobody the answer
			lines = asWritten()
		}
	}()
	parser := blackfriday.New(blackfriday.WithExtensions(blackfriday.CommonExtensions&^blackfriday.HeadingIDs | blackfriday.NoEmptyLineBeforeBlock))
	root := parser.Parse([]byte(text))
	return trimmed(drawer{isColoured}.blocks(root, width))
}

// harmless is a text without anything that a terminal obeys.
func harmless(text string) string {
	lines := strings.Split(strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\t", "    "), "\n")
	for i, line := range lines {
		lines[i] = plain.Line(line)
	}
	return strings.Join(lines, "\n")
}

// trimmed leaves out blank lines at both ends.
func trimmed(lines []string) []string {
	for len(lines) > 0 && lines[0] == "" {
		lines = lines[1:]
	}
	for len(lines) > 0 && lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	return lines
}

// drawer draws the nodes of a text.
type drawer struct{ isColoured bool }

// blocks draws the blocks in a node, with a blank line between two.
func (d drawer) blocks(parent *blackfriday.Node, width int) (lines []string) {
	for n := parent.FirstChild; n != nil; n = n.Next {
		part := d.block(n, width)
		if len(part) == 0 {
			continue
		}
		if len(lines) > 0 {
			lines = append(lines, "")
		}
		lines = append(lines, part...)
	}
	return lines
}

func (d drawer) block(n *blackfriday.Node, width int) []string {
	switch n.Type {
	case blackfriday.Heading:
		return d.heading(n, width)
	case blackfriday.CodeBlock:
		return d.code(n, width)
	case blackfriday.List:
		return d.list(n, width)
	case blackfriday.BlockQuote:
		return prefixed("│ ", "│ ", d.blocks(n, width-2))
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
	h := newHighlighter(language)
	for line := range strings.SplitSeq(strings.TrimRight(string(n.Literal), "\n"), "\n") {
		spans := []span{{text: line, style: code}}
		if d.isColoured {
			spans = h.parted(line)
		}
		lines = append(lines, hardWrapped(spans, width-2, d.isColoured)...)
	}
	return prefixed("  ", "  ", lines)
}

func (d drawer) list(n *blackfriday.Node, width int) (lines []string) {
	number := 1
	for item := n.FirstChild; item != nil; item = item.Next {
		mark := "• "
		if n.ListFlags&blackfriday.ListTypeOrdered != 0 {
			mark = fmt.Sprintf("%d. ", number)
			number++
		}
		room := len([]rune(mark))
		var part []string
		for child := item.FirstChild; child != nil; child = child.Next {
			if len(part) > 0 && child.Type != blackfriday.List && !n.Tight {
				part = append(part, "")
			}
			part = append(part, d.block(child, width-room)...)
		}
		if len(lines) > 0 && len(part) > 1 && !n.Tight {
			lines = append(lines, "")
		}
		lines = append(lines, prefixed(mark, strings.Repeat(" ", room), part)...)
	}
	return lines
}

// inline are the spans of a node's text.
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

// link shows a link's words, and behind them its address, if that is not the same.
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
