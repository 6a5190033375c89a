package tui

import (
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// border has the pieces of a box's border: corners from the upper left in the order of reading, and lines.
type border struct{ upLeft, upRight, downLeft, downRight, across, down string }

func lightBorder() border { return border{"╭", "╮", "╰", "╯", "─", "│"} }
func heavyBorder() border { return border{"┏", "┓", "┗", "┛", "━", "┃"} }

// The widths of a box that shows its text apart from its border, and that has a border at all.
const (
	wideBox  = 34
	leastBox = 12
)

// inBox returns the width of the text in a box.
func inBox(width int) int {
	if width < wideBox {
		return max(width-2, 1)
	}
	return width - 4
}

// box draws a border around lines of inBox(width) columns. The title stands in the border, with a remark at its right end
// if both have room. Both may be painted.
func box(title, remark string, lines []string, width, height int, b border, paint func(string) string) []string {
	pad := ""
	if width >= wideBox {
		pad = " "
	}
	room := width - 6
	if title = ansi.Truncate(title, room, "…"); ansi.StringWidth(title)+ansi.StringWidth(remark)+3 > room {
		remark = ""
	}
	end := paint(b.across + b.upRight)
	if remark != "" {
		end = " " + remark + " " + end
	}
	top := paint(b.upLeft+b.across) + " " + title + " "
	fill := strings.Repeat(b.across, max(width-ansi.StringWidth(top)-ansi.StringWidth(end), 0))
	drawn := []string{top + paint(fill) + end}
	side := paint(b.down)
	for i := range height - 2 {
		drawn = append(drawn, side+pad+padded(lineAt(lines, i), inBox(width))+pad+side)
	}
	return append(drawn, paint(b.downLeft+strings.Repeat(b.across, max(width-2, 0))+b.downRight))
}

// beside joins parts of the screen from left to right. Each has the same number of lines.
func beside(parts [][]string) []string {
	if len(parts) == 0 {
		return nil
	}
	lines := make([]string, len(parts[0]))
	for i := range lines {
		var b strings.Builder
		for _, part := range parts {
			b.WriteString(part[i])
		}
		lines[i] = b.String()
	}
	return lines
}
