package markdown

import (
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// style is the look of a span: a sum of these flags.
type style int

const (
	bold style = 1 << iota
	italic
	struck
	code
	link
	word    // a word of a programming language
	quoted  // a text in code
	comment // a comment in code
	number  // a number in code
)

// span is a piece of text of one style.
type span struct {
	text  string
	style style
}

// codes returns the SGR parameters of a style, after one that resets the terminal.
func (s style) codes() string {
	var list []string
	for _, of := range []struct {
		style style
		code  string
	}{
		{bold, "1"}, {italic, "3"}, {struck, "9"}, {code, Cyan.Code()}, {link, "4"},
		{word, Magenta.Code()}, {quoted, Green.Code()}, {comment, "2"}, {number, Yellow.Code()},
	} {
		if s&of.style != 0 {
			list = append(list, of.code)
		}
	}
	return strings.Join(list, ";")
}

// paint writes a span, so that no style reaches beyond it.
func (s span) paint(isColoured bool) string {
	codes := s.style.codes()
	if !isColoured || codes == "" || strings.TrimSpace(s.text) == "" {
		return s.text
	}
	return "\x1b[" + codes + "m" + s.text + "\x1b[m"
}

// layOut breaks spans into lines of a width: at blanks, and within a word only if that is wider
// than a line. A newline in a span ends a line.
func layOut(spans []span, width int, isColoured bool) []string {
	w := wrapper{width: max(width, 1), isColoured: isColoured}
	for _, s := range spans {
		for i, line := range strings.Split(s.text, "\n") {
			if i > 0 {
				w.endWord()
				w.endLine()
			}
			for j, piece := range strings.Split(line, " ") {
				if j > 0 {
					w.endWord()
					w.blanks++
				}
				if piece != "" {
					w.word = append(w.word, span{piece, s.style})
				}
			}
		}
	}
	w.endWord()
	w.endLine()
	return w.lines
}

// hardWrapped breaks spans wherever a line is full, and keeps all blanks.
func hardWrapped(spans []span, width int, isColoured bool) []string {
	w := wrapper{width: max(width, 1), isColoured: isColoured}
	for _, s := range spans {
		w.cut(s)
	}
	w.endLine()
	return w.lines
}

// wrapper gathers words into lines.
type wrapper struct {
	width      int
	isColoured bool
	lines      []string
	line       strings.Builder
	used       int // columns of the line
	blanks     int // before the word
	word       []span
}

func (w *wrapper) endWord() {
	if len(w.word) == 0 {
		return
	}
	wide := 0
	for _, s := range w.word {
		wide += ansi.StringWidth(s.text)
	}
	if w.used > 0 && w.used+w.blanks+wide > w.width && wide <= w.width {
		w.endLine()
	}
	if w.used > 0 && w.used+w.blanks < w.width {
		w.line.WriteString(strings.Repeat(" ", w.blanks))
		w.used += w.blanks
	}
	for _, s := range w.word {
		w.cut(s)
	}
	w.word, w.blanks = nil, 0
}

// cut writes a span over as many lines as it needs.
func (w *wrapper) cut(s span) {
	for s.text != "" {
		room := w.width - w.used
		head, wide := fit(s.text, room)
		if head == "" && w.used == 0 { // a letter that is wider than a line
			head, wide = fit(s.text, 2)
		}
		if head == "" && w.used == 0 {
			return
		}
		w.line.WriteString(span{head, s.style}.paint(w.isColoured))
		w.used += wide
		s.text = s.text[len(head):]
		if s.text != "" {
			w.endLine()
		}
	}
}

// fit returns the beginning of a text that has room in so many columns, and its width. It reads no more of
// the text, which may be a word of a million letters.
func fit(text string, room int) (head string, wide int) {
	end := 0
	for end < len(text) {
		letter, columns := ansi.FirstGraphemeCluster(text[end:], ansi.GraphemeWidth)
		if wide+columns > room {
			break
		}
		end, wide = end+len(letter), wide+columns
	}
	return text[:end], wide
}

func (w *wrapper) endLine() {
	w.lines = append(w.lines, w.line.String())
	w.line.Reset()
	w.used, w.blanks = 0, 0
}
