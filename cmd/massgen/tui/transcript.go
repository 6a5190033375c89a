package tui

import (
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"github.com/massgen/massgen/internal/system/plain"
)

// blockKind decides the look of a block of the conversation.
type blockKind int

const (
	asked   blockKind = iota // a question
	replied                  // an answer, in Markdown
	noted                    // a note to a turn
	told                     // a remark of the program
	printed                  // the output of a command
	wrong                    // an error
)

// block is a piece of the conversation. short is the text while the block is folded, empty if it does not fold. lines
// are its lines for a width. rendered reports that their Markdown is rendered, or soon is, and isReady that it is.
type block struct {
	kind     blockKind
	title    string
	text     string
	short    string
	lines    []string
	width    int
	rendered bool
	isReady  bool
	// isTight reports that no empty line follows the block.
	isTight bool
}

// transcript is the conversation, which scrolls from its end. A session may have thousands of blocks, so
// only visible blocks are laid out and rendered.
type transcript struct {
	blocks []block
	at     position
	width  int
	height int
	// isOpen reports whether blocks that fold show all of their text.
	isOpen bool
	// printed counts the blocks that are in the scrollback of an inline screen, and no longer here.
	printed int
	// page counts the clears. The transcript drops results for an older page.
	page int
}

func (t *transcript) add(kind blockKind, title, text string) {
	t.blocks = append(t.blocks, block{kind: kind, title: plain.Line(title), text: printable(text)})
	t.at.toEnd()
}

// change replaces the text of a block.
func (t *transcript) change(i int, text string) {
	if b := &t.blocks[i]; b.text != printable(text) {
		b.text, b.width = printable(text), 0
	}
}

// fold changes the text that a block shows while it is folded.
func (t *transcript) fold(i int, short string) {
	if b := &t.blocks[i]; b.short != printable(short) {
		b.short, b.width = printable(short), 0
	}
}

// toggle opens the blocks that fold, or folds them.
func (t *transcript) toggle() {
	t.isOpen = !t.isOpen
	for i := range t.blocks {
		if b := &t.blocks[i]; b.short != "" {
			b.width = 0
		}
	}
}

// clear takes the conversation off the screen.
func (t *transcript) clear() {
	t.blocks, t.printed = nil, 0
	t.page++
	t.at.toEnd()
}

// addTight adds a remark that no empty line follows.
func (t *transcript) addTight(text string) {
	t.add(told, "", text)
	t.blocks[len(t.blocks)-1].isTight = true
}

// finished returns the lines of the blocks that can change no more, and counts them as printed. open are blocks that
// may change, -1 for none.
func (t *transcript) finished(open ...int) (lines []string) {
	for ; t.printed < len(t.blocks) && !slices.Contains(open, t.printed); t.printed++ {
		i := t.printed
		of := t.lines(i)
		if b := t.blocks[i]; b.kind == replied && !b.isReady {
			break
		}
		lines = append(lines, of...)
	}
	return lines
}

func (t *transcript) resize(width, height int) { t.width, t.height = width, height }

// count implements pile.
func (t *transcript) count() int { return len(t.blocks) }

// lines implements pile. It lays out a block that has lines of another width.
func (t *transcript) lines(i int) []string {
	if b := &t.blocks[i]; b.width != t.width {
		b.rendered, b.isReady = false, false
		t.lay(i)
	}
	return t.blocks[i].lines
}

// lay makes the lines of a block without rendering Markdown, which takes long.
func (t *transcript) lay(i int) {
	b := &t.blocks[i]
	b.width = t.width
	switch b.kind {
	case asked:
		b.lines = framed(asQuestion, "┃ ", b.text, t.width)
	case noted:
		b.lines = framed(asNote, "┊ note: ", b.text, t.width)
	case told:
		text := b.text
		if b.short != "" && !t.isOpen {
			text = b.short
		}
		b.lines = framed(faint, "  ", text, t.width)
	case wrong:
		b.lines = framed(asBad, "✗ ", b.text, t.width)
	default:
		b.lines = wrapped(b.text, t.width)
	}
	t.frame(i)
}

// frame puts the title of a block above its lines, and empty lines around them.
func (t *transcript) frame(i int) {
	b := &t.blocks[i]
	if b.title != "" {
		b.lines = append([]string{b.head()}, b.lines...)
	}
	if b.isTight {
		return
	}
	if i > 0 && t.blocks[i-1].isTight {
		b.lines = append([]string{""}, b.lines...)
	}
	b.lines = append(slices.Clip(b.lines), "")
}

func (b *block) head() string { return asTitle(ansi.Truncate(b.title, b.width, "…")) }

// unrendered returns an answer on the screen, or one screen above it, whose Markdown is not rendered yet,
// -1 without one.
func (t *transcript) unrendered() int {
	if len(t.blocks) == 0 || t.width <= 0 {
		return -1
	}
	t.at.settle(t, t.height)
	room := 2 * t.height
	for i := t.at.bottom; i >= 0 && room > 0; i-- {
		room -= len(t.lines(i))
		if i == t.at.bottom {
			room += t.at.below
		}
		if b := t.blocks[i]; b.kind == replied && !b.rendered {
			return i
		}
	}
	return -1
}

// put sets the rendered lines of a block. The lines below it stay in their places on the screen.
func (t *transcript) put(i, width int, lines []string) {
	if i >= len(t.blocks) || t.blocks[i].width != width {
		return
	}
	b := &t.blocks[i]
	before := len(b.lines)
	b.rendered, b.isReady = true, true
	b.lines = lines
	t.frame(i)
	if t.at.isFree && t.at.bottom == i {
		t.at.below = max(t.at.below+len(b.lines)-before, 0)
	}
}

// scroll scrolls by a number of lines, up if it is positive.
func (t *transcript) scroll(by int) {
	if t.width > 0 {
		t.at.move(t, by, t.height)
	}
}

// unprinted returns the lines of the blocks that are not in the scrollback, at most height from their end.
func (t *transcript) unprinted(height int) (lines []string) {
	for i := t.printed; i < len(t.blocks); i++ {
		lines = append(lines, t.lines(i)...)
	}
	return lines[max(len(lines)-height, 0):]
}

// view returns the lines on the screen, as many as its height.
func (t *transcript) view() []string {
	lines := t.at.view(t, t.height)
	return append(lines, blank(t.height-len(lines))...)
}

// framed wraps a text with a mark at the start of each line.
func framed(style func(string) string, mark, text string, width int) []string {
	if ansi.StringWidth(mark) > width/2 {
		mark = ""
	}
	room := max(width-ansi.StringWidth(mark), 1)
	var lines []string
	for _, line := range wrapped(text, room) {
		lines = append(lines, style(mark+line))
	}
	return lines
}

// hanging wraps a text after a head. Further lines begin below the text.
func hanging(head, text string, width int) (lines []string) {
	indent := ansi.StringWidth(head)
	if indent > width/2 {
		return wrapped(head+text, width)
	}
	for _, line := range wrapped(text, width-indent) {
		lines = append(lines, head+line)
		head = strings.Repeat(" ", indent)
	}
	return lines
}

// wrapped breaks a text into lines of a width, between words if possible.
func wrapped(text string, width int) []string {
	width = max(width, 1)
	var lines []string
	for line := range strings.SplitSeq(ansi.Wrap(text, width, ""), "\n") {
		if ansi.StringWidth(line) > width { // Wrap exceeds a width of a few columns
			lines = append(lines, strings.Split(ansi.Hardwrap(line, width, true), "\n")...)
			continue
		}
		lines = append(lines, line)
	}
	return lines
}
