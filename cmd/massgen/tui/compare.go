package tui

import (
	"slices"
	"strings"
	"unicode"

	"charm.land/bubbles/v2/viewport"
	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/massgen/massgen/cmd/massgen/internal/markdown"
	"github.com/massgen/massgen/cmd/massgen/internal/signs"
	"github.com/massgen/massgen/coordinator/report"
	"github.com/massgen/massgen/internal/system/plain"
)

// comparison shows two answers of a turn side by side: the winner's and another one. The words in which
// they differ stand out.
type comparison struct {
	answers []report.ResultAnswer // the winner's first
	panel   []string              // the ids of the agents
	drawer  *markdown.Drawer
	at      int
	port    viewport.Model
	laid    struct{ at, width int } // the answer, from 1, and the width of the lines in port
}

// newComparison compares the answers of a turn, of which there is at least one.
func newComparison(answers []report.ResultAnswer, winner string, panel []string, drawer *markdown.Drawer) *comparison {
	c := &comparison{port: viewport.New(), panel: panel, drawer: drawer}
	for _, a := range answers {
		if a.Agent == winner {
			c.answers = append([]report.ResultAnswer{a}, c.answers...)
		} else {
			c.answers = append(c.answers, a)
		}
	}
	c.at = min(1, len(c.answers)-1)
	return c
}

func (c *comparison) press(msg tea.KeyPressMsg) (overlay, tea.Cmd) {
	switch msg.String() {
	case "esc", "q", "ctrl+c", "enter":
		return nil, nil
	case "right", "tab":
		c.at = min(c.at+1, len(c.answers)-1)
	case "left", "shift+tab":
		c.at = max(c.at-1, min(1, len(c.answers)-1))
	default:
		var cmd tea.Cmd
		c.port, cmd = c.port.Update(msg)
		return c, cmd
	}
	c.port.GotoTop()
	return c, nil
}

func (c *comparison) view(width, height int) []string {
	title := "answers: " + c.answers[0].Label
	if c.at > 0 {
		title += " and " + c.answers[c.at].Label
	}
	c.port.SetWidth(width)
	c.port.SetHeight(max(height-2, 1))
	if c.laid != (struct{ at, width int }{c.at + 1, width}) {
		c.laid.at, c.laid.width = c.at+1, width
		c.port.SetContentLines(c.lines(width))
	}
	heads := c.row(width, strongAgent(c.place(0))(c.name(0)), strongAgent(c.place(c.at))(c.name(c.at)))
	return append([]string{titleOf(title, "left and right choose, Esc closes", c.port, width), heads}, strings.Split(c.port.View(), "\n")...)
}

// name returns the label of an answer after its author's sign.
func (c *comparison) name(i int) string {
	return signs.Signed(c.place(i), plain.Line(c.answers[i].Label), false)
}

// place returns the place of an answer's author in the panel.
func (c *comparison) place(i int) int { return slices.Index(c.panel, c.answers[i].Agent) }

// lines returns the two answers in lines of a width.
func (c *comparison) lines(width int) (lines []string) {
	column := max((width-3)/2, 1)
	left, right := c.drawn(0, column), c.drawn(c.at, column)
	one, other := different(left, right), different(right, left)
	for i := range max(len(one), len(other)) {
		lines = append(lines, c.row(width, lineAt(one, i), lineAt(other, i)))
	}
	return lines
}

// row puts two texts side by side.
func (c *comparison) row(width int, left, right string) string {
	column := max((width-3)/2, 1)
	return ansi.Truncate(padded(ansi.Truncate(left, column, "…"), column)+asRule(" │ ")+right, width, "…")
}

// drawn returns an answer in lines of a width.
func (c *comparison) drawn(i, width int) (lines []string) {
	text := c.drawer.NewText(markdown.Look{})
	text.Write(c.answers[i].Content)
	for block := range text.Len() {
		lines = append(lines, text.Lines(block, width)...)
	}
	return lines
}

// mostWords is the longest compared answer, in words. The work grows with the square.
const mostWords = 3000

// different returns drawn lines in which the words that other lines lack stand out.
func different(lines, others []string) []string {
	words, otherWords := wordsOf(lines), wordsOf(others)
	if len(words) > mostWords || len(otherWords) > mostWords {
		return lines
	}
	isCommon := common(words, otherWords)
	shown := make([]string, len(lines))
	for i, line := range lines {
		n := len(wordsOf(lines[i : i+1]))
		shown[i] = marked(line, isCommon[:n])
		isCommon = isCommon[n:]
	}
	return shown
}

// wordsOf returns the words of drawn lines. Signs, such as the lines of a table, are none.
func wordsOf(lines []string) (words []string) {
	for _, line := range lines {
		for word := range strings.SplitSeq(ansi.Strip(line), " ") {
			if isWord(word) {
				words = append(words, word)
			}
		}
	}
	return words
}

func isWord(text string) bool {
	return strings.ContainsFunc(text, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) })
}

// marked returns a drawn line whose words stand out unless they are common. Other words keep their colours.
func marked(line string, isCommon []bool) string {
	var b, word, codes strings.Builder
	style := "" // of the text at this place
	end := func() {
		if text := ansi.Strip(word.String()); isWord(text) {
			if !isCommon[0] {
				word.Reset()
				word.WriteString(asAlert(text) + style)
			}
			isCommon = isCommon[1:]
		}
		b.WriteString(word.String())
		word.Reset()
	}
	for _, r := range line {
		switch {
		case r == ansi.ESC || codes.Len() > 0:
			codes.WriteRune(r)
			if r == 'm' {
				word.WriteString(codes.String())
				if style = codes.String(); style == "\x1b[m" {
					style = ""
				}
				codes.Reset()
			}
		case r == ' ':
			end()
			b.WriteRune(r)
		default:
			word.WriteRune(r)
		}
	}
	end()
	return b.String()
}

// common reports for each word whether it is in the longest common subsequence of two lists.
func common(words, others []string) []bool {
	longest := make([][]uint16, len(words)+1) // mostWords has a place in 16 bits
	for i := range longest {
		longest[i] = make([]uint16, len(others)+1)
	}
	for i := len(words) - 1; i >= 0; i-- {
		for j := len(others) - 1; j >= 0; j-- {
			if words[i] == others[j] {
				longest[i][j] = longest[i+1][j+1] + 1
			} else {
				longest[i][j] = max(longest[i+1][j], longest[i][j+1])
			}
		}
	}
	isCommon := make([]bool, len(words))
	for i, j := 0, 0; i < len(words) && j < len(others); {
		switch {
		case words[i] == others[j]:
			isCommon[i] = true
			i, j = i+1, j+1
		case longest[i+1][j] >= longest[i][j+1]:
			i++
		default:
			j++
		}
	}
	return isCommon
}
