package tui

import (
	"fmt"
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"github.com/massgen/massgen/cmd/massgen/internal/markdown"
	"github.com/massgen/massgen/cmd/massgen/internal/signs"
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
// are its lines for a width.
type block struct {
	kind  blockKind
	title string
	agent string // the author of an answer
	text  string
	short string
	lines []string
	width int
	// isTight reports that no empty line follows the block.
	isTight bool
	// answer has the text of a part of an answer, which is its block number part. draw draws a block that is no text.
	answer *markdown.Text
	part   int
	draw   func(width int) []string
}

// transcript is the conversation, which scrolls from its end. A session may have thousands of blocks, and an answer a
// million letters, so only visible blocks are laid out.
type transcript struct {
	drawer *markdown.Drawer
	panel  []string // the ids of the agents
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

// setPanel tells whose signs stand before answers.
func (t *transcript) setPanel(ids []string) {
	if slices.Equal(ids, t.panel) {
		return
	}
	t.panel = ids
	for i := range t.blocks {
		if b := &t.blocks[i]; b.agent != "" {
			b.width = 0
		}
	}
}

// addAnswer adds the answer of an agent, in blocks of Markdown.
func (t *transcript) addAnswer(agent, title, text string) {
	answer := t.drawer.NewText(markdown.Look{})
	answer.Write(text)
	for i := range answer.Len() {
		t.blocks = append(t.blocks, block{kind: replied, answer: answer, part: i, isTight: i < answer.Len()-1})
		if i == 0 {
			b := &t.blocks[len(t.blocks)-1]
			b.title, b.agent, b.text = plain.Line(title), agent, printable(text)
		}
	}
	t.at.toEnd()
}

// addDrawn adds a block that draws itself.
func (t *transcript) addDrawn(draw func(width int) []string) {
	t.blocks = append(t.blocks, block{kind: told, draw: draw})
	t.at.toEnd()
}

// first returns the first line of the oldest block of a kind, "" without one.
func (t *transcript) first(kind blockKind) string {
	for _, b := range t.blocks {
		if b.kind == kind {
			line, _, _ := strings.Cut(strings.TrimSpace(b.text), "\n")
			return line
		}
	}
	return ""
}

// showLast shows the newest block of a kind that has a text from its beginning.
func (t *transcript) showLast(kind blockKind) {
	for i := len(t.blocks) - 1; i >= 0; i-- {
		if b := t.blocks[i]; b.kind == kind && b.text != "" {
			t.at.from(i)
			return
		}
	}
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
		lines = append(lines, t.lines(t.printed)...)
	}
	return lines
}

func (t *transcript) resize(width, height int) { t.width, t.height = width, height }

// count implements pile.
func (t *transcript) count() int { return len(t.blocks) }

// lines implements pile. It lays out a block that has lines of another width.
func (t *transcript) lines(i int) []string {
	if b := &t.blocks[i]; b.width != t.width {
		t.lay(i)
	}
	return t.blocks[i].lines
}

// lay makes the lines of a block.
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
		if b.draw != nil {
			b.lines = b.draw(t.width)
		}
	case replied:
		b.lines = b.answer.Lines(b.part, t.width)
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
		b.lines = append([]string{b.head(slices.Index(t.panel, b.agent))}, b.lines...)
	}
	if b.isTight {
		return
	}
	if i > 0 && t.blocks[i-1].isTight && b.part == 0 {
		b.lines = append([]string{""}, b.lines...)
	}
	b.lines = append(slices.Clip(b.lines), "")
}

// head returns the title of a block: of an answer its author, who is at a place in the panel, and a line up to the edge.
func (b *block) head(place int) string {
	if b.kind != replied {
		return asTitle(ansi.Truncate(b.title, b.width, "…"))
	}
	paint := asTitle
	if place >= 0 {
		paint = strongAgent(place)
	}
	title := ansi.Truncate(signs.Signed(place, b.title, false), b.width, "…")
	return paint(title) + faint(" "+strings.Repeat("─", max(b.width-ansi.StringWidth(title)-1, 0)))
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
	const least = 4 // rows, or the sign would take the place of the text
	if more, isAll := t.hidden(); more > 0 && len(lines) >= least {
		sign := fmt.Sprintf("▾ %s: PgDn", plain.Count(more+1, "more line"))
		if !isAll {
			sign = "▾ more lines: PgDn"
		}
		lines[len(lines)-1] = faint(ansi.Truncate(sign, t.width, "…"))
	}
	return append(lines, blank(t.height-len(lines))...)
}

// hidden counts the lines below the screen, without the empty one at the end. It lays out a few blocks at most: isAll
// reports whether it has counted all lines.
func (t *transcript) hidden() (lines int, isAll bool) {
	const most = 8 // blocks
	if !t.at.isFree || len(t.blocks) == 0 {
		return 0, true
	}
	lines = t.at.below
	for i := t.at.bottom + 1; i < len(t.blocks); i++ {
		if i > t.at.bottom+most {
			return lines, false
		}
		lines += len(t.lines(i))
	}
	return lines - 1, true
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
