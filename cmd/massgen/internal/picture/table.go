package picture

import (
	"fmt"
	"strings"

	"github.com/massgen/massgen/internal/coordination/budget"
	"github.com/massgen/massgen/internal/system/plain"
)

// agents writes the cost of each agent. On a narrow terminal it leaves models and states out.
func (t *terminal) agents() {
	header := []string{"agent", "calls", "in", "out", "cost", "state", "model"}
	columns := len(header)
	if t.width < 64 {
		columns = 5
	}
	rows := [][]string{header}
	for _, l := range t.Lanes[:t.shown] {
		if l.IsAgent || len(l.Calls) > 0 {
			rows = append(rows, usageRow(l.Name, l.Usage, l.State, l.Model))
		}
	}
	rows = append(rows, usageRow("all", t.Usage, "", ""))
	widths := make([]int, columns)
	for i, row := range rows {
		for c := range widths {
			cell := plain.Line(row[c])
			if columns == 5 && c > 0 && i > 0 {
				cell = short(cell)
			}
			row[c] = cell
			widths[c] = max(widths[c], cells(cell))
		}
	}
	widths[0] = min(widths[0], t.width/3)
	t.out.WriteString("\n")
	for i, row := range rows {
		var b strings.Builder
		for c, width := range widths {
			cell := padded(row[c], width)
			if c > 0 && c < 5 { // numbers are aligned to the right
				cell = strings.Repeat(" ", max(0, width-cells(row[c]))) + row[c]
			}
			b.WriteString(cell + "  ")
		}
		line := strings.TrimRight(fit(strings.TrimRight(b.String(), " "), t.width), " ")
		if i == 0 {
			line = t.paint(boldStyle, line)
		}
		t.out.WriteString(line + "\n")
	}
	t.more("", len(t.Lanes)-t.shown)
}

// more writes how many entries of a list are left out.
func (t *terminal) more(indent string, n int) {
	if n > 0 {
		t.line(indent + fmt.Sprintf("… and %d more", n))
	}
}

func usageRow(name string, u budget.Usage, state, model string) []string {
	cost := money(u)
	if u.CostUSD == nil {
		cost = "?"
	}
	return []string{name, plain.Thousands(u.Calls), plain.Thousands(u.InputTokens), plain.Thousands(u.OutputTokens), cost, state, model}
}

// short writes a number with commas in thousands or millions, if it is large.
func short(number string) string {
	if strings.HasPrefix(number, "$") || strings.Count(number, ",") == 0 {
		return number
	}
	parts := strings.Split(number, ",")
	return parts[0] + "." + parts[1][:1] + []string{"", "k", "M", "G", "T", "P", "E"}[len(parts)-1]
}
