package tui

import (
	"strings"

	"charm.land/bubbles/v2/viewport"
	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"github.com/massgen/massgen/coordinator/report"
)

// comparison shows two answers of a turn side by side: the winner's and another one. The words in which
// they differ stand out.
type comparison struct {
	answers []report.ResultAnswer // the winner's first
	at      int
	port    viewport.Model
	laid    struct{ at, width int } // the answer, from 1, and the width of the lines in port
}

// newComparison compares the answers of a turn, of which there is at least one.
func newComparison(answers []report.ResultAnswer, winner string) *comparison {
	c := &comparison{port: viewport.New()}
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
	c.port.SetHeight(max(height-1, 1))
	if c.laid != (struct{ at, width int }{c.at + 1, width}) {
		c.laid.at, c.laid.width = c.at+1, width
		c.port.SetContentLines(c.lines(width))
	}
	return append([]string{titleOf(title, "left and right choose, Esc closes", c.port, width)}, strings.Split(c.port.View(), "\n")...)
}

// lines returns the two answers in lines of a width.
func (c *comparison) lines(width int) (lines []string) {
	column := max((width-3)/2, 1)
	left, right := c.answers[0].Content, c.answers[c.at].Content
	one := append([]string{bold(c.answers[0].Label)}, wrapped(different(left, right), column)...)
	other := append([]string{bold(c.answers[c.at].Label)}, wrapped(different(right, left), column)...)
	for i := range max(len(one), len(other)) {
		lines = append(lines, ansi.Truncate(padded(lineAt(one, i), column)+faint(" │ ")+lineAt(other, i), width, "…"))
	}
	return lines
}

func lineAt(lines []string, i int) string {
	if i < len(lines) {
		return lines[i]
	}
	return ""
}

// mostWords is the longest compared answer, in words. The work grows with the square.
const mostWords = 3000

// different returns a text in which the words that another text lacks stand out.
func different(text, other string) string {
	lines := strings.Split(text, "\n")
	var words []string
	for _, line := range lines {
		words = append(words, strings.Fields(line)...)
	}
	others := strings.Fields(other)
	if len(words) > mostWords || len(others) > mostWords {
		return text
	}
	isCommon := common(words, others)
	at := 0
	for i, line := range lines {
		pieces := strings.Split(line, " ")
		for j, word := range pieces {
			if strings.TrimSpace(word) == "" {
				continue
			}
			if at < len(isCommon) && !isCommon[at] {
				pieces[j] = asAlert(word)
			}
			at += len(strings.Fields(word))
		}
		lines[i] = strings.Join(pieces, " ")
	}
	return strings.Join(lines, "\n")
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
