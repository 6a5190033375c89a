package markdown

import (
	"slices"
	"strings"

	"github.com/charmbracelet/x/ansi"
	"github.com/russross/blackfriday/v2"
)

// table draws a table whose columns share the width. Cells wrap.
func (d drawer) table(n *blackfriday.Node, width int) []string {
	var rows [][][]span
	heads := 0
	n.Walk(func(n *blackfriday.Node, entering bool) blackfriday.WalkStatus {
		switch {
		case entering && n.Type == blackfriday.TableRow:
			rows = append(rows, nil)
			if n.Parent.Type == blackfriday.TableHead {
				heads++
			}
		case entering && n.Type == blackfriday.TableCell:
			s := style(0)
			if n.IsHeader {
				s = bold
			}
			rows[len(rows)-1] = append(rows[len(rows)-1], d.inline(n, s))
			return blackfriday.SkipChildren
		}
		return blackfriday.GoToNext
	})
	columns := 0
	for _, row := range rows {
		columns = max(columns, len(row))
	}
	if columns == 0 {
		return nil
	}
	wide := shares(rows, columns, width-3*(columns-1))
	var lines []string
	for i, row := range rows {
		lines = append(lines, d.row(row, wide)...)
		if i == heads-1 {
			var rules []string
			for _, w := range wide {
				rules = append(rules, strings.Repeat("─", w))
			}
			lines = append(lines, strings.Join(rules, "─┼─"))
		}
	}
	for i, line := range lines {
		lines[i] = ansi.Truncate(line, width, "…") // of more columns than fit
	}
	return lines
}

// row draws one row, as high as its highest cell.
func (d drawer) row(row [][]span, wide []int) (lines []string) {
	cells := make([][]string, len(wide))
	high := 1
	for i := range wide {
		if i < len(row) {
			cells[i] = layOut(row[i], wide[i], d.isColoured)
		}
		high = max(high, len(cells[i]))
	}
	for y := range high {
		var parts []string
		for i, cell := range cells {
			text := ""
			if y < len(cell) {
				text = cell[y]
			}
			parts = append(parts, text+strings.Repeat(" ", max(wide[i]-ansi.StringWidth(text), 0)))
		}
		lines = append(lines, strings.TrimRight(strings.Join(parts, " │ "), " "))
	}
	return lines
}

// shares returns the widths of the columns. While they are too wide together, the widest one shrinks.
func shares(rows [][][]span, columns, width int) []int {
	const least = 4
	wide := make([]int, columns)
	sum := 0
	for _, row := range rows {
		for i, cell := range row {
			w := 0
			for _, s := range cell {
				w += ansi.StringWidth(s.text)
			}
			wide[i] = max(wide[i], w, 1)
		}
	}
	for _, w := range wide {
		sum += w
	}
	for ; sum > width; sum-- {
		at := slices.Index(wide, slices.Max(wide))
		if wide[at] <= least {
			break
		}
		wide[at]--
	}
	return wide
}
