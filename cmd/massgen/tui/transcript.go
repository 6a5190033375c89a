package tui

import (
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// blockKind says how a block of the conversation is shown.
type blockKind int

const (
	asked   blockKind = iota // a question
	replied                  // an answer, in Markdown
	noted                    // a note to a turn
	told                     // a remark of the program's
	printed                  // what a command printed
	wrong                    // an error
)

// block is a piece of the conversation. Its lines are those of a width, and rendered says that
// the Markdown in them is, and no longer as it was written.
type block struct {
	kind     blockKind
	title    string
	text     string
	lines    []string
	width    int
	rendered bool
}

// transcript is the conversation, which is scrolled from its end.
type transcript struct {
	blocks []block
	up     int // lines below the screen
	width  int
	height int
}

func (t *transcript) add(kind blockKind, title, text string) {
	t.blocks = append(t.blocks, block{kind: kind, title: title, text: printable(text)})
	t.lay(len(t.blocks) - 1)
	t.up = 0
}

// clear takes the conversation off the screen.
func (t *transcript) clear() { t.blocks, t.up = nil, 0 }

// resize lays the blocks anew for a width.
func (t *transcript) resize(width, height int) {
	t.height = height
	if t.width == width {
		return
	}
	t.width = width
	for i := range t.blocks {
		t.blocks[i].rendered = false
		t.lay(i)
	}
	t.scroll(0)
}

// lay makes the lines of a block without rendering Markdown, which takes long.
func (t *transcript) lay(i int) {
	b := &t.blocks[i]
	if t.width <= 0 {
		return
	}
	b.width = t.width
	switch b.kind {
	case asked:
		b.lines = framed(asQuestion, "┃ ", b.text, t.width)
	case noted:
		b.lines = framed(asNote, "┊ note: ", b.text, t.width)
	case told:
		b.lines = framed(faint, "  ", b.text, t.width)
	case wrong:
		b.lines = framed(asBad, "✗ ", b.text, t.width)
	default:
		b.lines = wrapped(b.text, t.width)
	}
	if b.title != "" {
		b.lines = append([]string{asTitle(b.title)}, b.lines...)
	}
	b.lines = append(b.lines, "")
}

// unrendered is the newest answer whose Markdown is not rendered yet, -1 if there is none.
func (t *transcript) unrendered() int {
	for i := len(t.blocks) - 1; i >= 0; i-- {
		if b := t.blocks[i]; b.kind == replied && !b.rendered && b.width > 0 {
			return i
		}
	}
	return -1
}

// put gives a block the lines of its rendered Markdown. What is on the screen stays where it is.
func (t *transcript) put(i, width int, lines []string) {
	if i >= len(t.blocks) || t.blocks[i].width != width {
		return
	}
	b := &t.blocks[i]
	before := len(b.lines)
	b.rendered = true
	b.lines = lines
	if b.title != "" {
		b.lines = append([]string{asTitle(b.title)}, b.lines...)
	}
	b.lines = append(slices.Clip(b.lines), "")
	below := 0
	for _, other := range t.blocks[i+1:] {
		below += len(other.lines)
	}
	if t.up > below {
		t.up += len(b.lines) - before
	}
	t.scroll(0)
}

func (t *transcript) total() (n int) {
	for _, b := range t.blocks {
		n += len(b.lines)
	}
	return n
}

// scroll moves by so many lines, up if they are more than 0.
func (t *transcript) scroll(by int) { t.up = max(0, min(t.up+by, t.total()-t.height)) }

// view are the lines on the screen, as many as its height.
func (t *transcript) view() []string {
	lines := make([]string, 0, t.height)
	skip := t.up
	var reversed []string
	for i := len(t.blocks) - 1; i >= 0 && len(reversed) < t.height; i-- {
		b := t.blocks[i].lines
		for j := len(b) - 1; j >= 0 && len(reversed) < t.height; j-- {
			if skip > 0 {
				skip--
				continue
			}
			reversed = append(reversed, b[j])
		}
	}
	for i := len(reversed) - 1; i >= 0; i-- {
		lines = append(lines, reversed[i])
	}
	for len(lines) < t.height {
		lines = append(lines, "")
	}
	return lines
}

// framed wraps a text behind a mark that stands on each line.
func framed(style func(string) string, mark, text string, width int) []string {
	room := max(width-ansi.StringWidth(mark), 1)
	var lines []string
	for _, line := range wrapped(text, room) {
		lines = append(lines, style(mark+line))
	}
	return lines
}

// wrapped breaks a text into lines of a width, at words where it can.
func wrapped(text string, width int) []string {
	return strings.Split(ansi.Wrap(text, max(width, 1), ""), "\n")
}
