package picture

import (
	"golang.org/x/net/html"

	"github.com/massgen/massgen/internal/system/plain"
)

// part adds something to an element of the HTML page: an attribute, a text or another element.
// html.Render escapes attributes and texts. It also keeps a line break at the beginning of a text
// in <pre>, where a browser ignores the first one.
type part func(parent *html.Node)

// tag returns an element with its parts.
func tag(name string, parts ...part) part {
	return func(parent *html.Node) {
		element := &html.Node{Type: html.ElementNode, Data: name}
		all(parts...)(element)
		parent.AppendChild(element)
	}
}

// attribute returns an attribute. In HTML an empty value means an attribute without a value.
func attribute(key, value string) part {
	return func(element *html.Node) { element.Attr = append(element.Attr, html.Attribute{Key: key, Val: value}) }
}

func class(names string) part { return attribute("class", names) }

// words returns a text of one or more lines.
func words(s string) part {
	return func(parent *html.Node) { parent.AppendChild(&html.Node{Type: html.TextNode, Data: text(s)}) }
}

// line returns a text on one line.
func line(s string) part { return words(plain.Line(s)) }

// markup returns markup that html.Render writes as it is: the program's own style and script, and the
// drawing, which escapes its texts.
func markup(s string) part {
	return func(parent *html.Node) { parent.AppendChild(&html.Node{Type: html.RawNode, Data: s}) }
}

func all(parts ...part) part {
	return func(parent *html.Node) {
		for _, add := range parts {
			add(parent)
		}
	}
}

// when returns the parts if a condition holds, and nothing otherwise.
func when(holds bool, parts ...part) part {
	if !holds {
		return all()
	}
	return all(parts...)
}

// each returns a drawing of each member of a list, a line each.
func each[T any](list []T, draw func(T) part) part {
	parts := make([]part, len(list))
	for i, member := range list {
		parts[i] = draw(member)
	}
	return lines(parts...)
}

// lines returns the parts with a line break after each, for people who read the source.
func lines(parts ...part) part {
	return func(parent *html.Node) {
		for _, add := range parts {
			last := parent.LastChild
			add(parent)
			if parent.LastChild != last && parent.LastChild.Data != "\n" {
				words("\n")(parent)
			}
		}
	}
}

// block returns an element with a line for each of its parts.
func block(name string, parts ...part) part { return tag(name, words("\n"), lines(parts...)) }
