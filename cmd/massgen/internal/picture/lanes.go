package picture

import (
	"strings"
	"time"

	"github.com/massgen/massgen/internal/system/plain"
)

// cell is a character of the timeline.
type cell struct{ text, style string }

// row is a line of the timeline.
type row []cell

// blank returns a row with the bounds of the rounds.
func (t *terminal) blank(s scale, width int) row {
	r := make(row, width)
	for _, x := range t.boundColumns(s) {
		if x < width {
			r[x] = cell{"│", faintStyle}
		}
	}
	return r
}

// boundColumns returns the columns between rounds, or none if there is no room for them.
func (t *terminal) boundColumns(s scale) (columns []int) {
	if s.gap < 2 {
		return nil
	}
	for _, b := range s.bounds {
		columns = append(columns, int(s.start(b))-1)
	}
	return columns
}

func (t *terminal) write(r row) string {
	var b strings.Builder
	style, run := "", ""
	flush := func() {
		b.WriteString(t.paint(style, run))
		run = ""
	}
	for i := 0; i < len(r); i++ {
		c := r[i]
		if c.text == "" {
			c.text = " "
		}
		if c.style != style {
			flush()
			style = c.style
		}
		run += c.text
		i += max(0, cells(c.text)-1)
	}
	flush()
	return b.String()
}

// put writes a text into a row if only blanks and bounds are in its way.
func (r row) put(x int, text, style string) {
	width := cells(text)
	if x < 0 || x+width > len(r) {
		return
	}
	for i := max(0, x-1); i < min(len(r), x+width+1); i++ {
		if r[i].text != "" && r[i].text != "│" {
			return
		}
	}
	for _, char := range text {
		if cellsOf(char) == 0 { // it joins the one before it
			if x > 0 {
				r[x-1].text += string(char)
			}
			continue
		}
		r[x] = cell{string(char), style}
		x += cellsOf(char)
	}
}

// timeline draws the lanes.
func (t *terminal) timeline() {
	names := 0
	for _, l := range t.Lanes[:t.shown] {
		names = max(names, cells(plain.Line(l.Name))+2)
	}
	names = min(names, t.width/3)
	width := t.width - names - 1
	s := newScale(t.Picture, float64(width), 2)
	margin := strings.Repeat(" ", names+1)
	if len(t.Rounds) > 0 {
		r := t.blank(s, width)
		for _, round := range t.Rounds {
			r.put(int(s.start(round.At)), plain.Line(round.Name), boldStyle)
		}
		t.out.WriteString(strings.TrimRight(margin+t.write(r), " ") + "\n")
	}
	for i, l := range t.Lanes[:t.shown] {
		name, style := plain.Line(l.Name), agentStyle(i)
		if l.Wins {
			name, style = "★ "+name, winnerStyle
		}
		if !l.IsAgent {
			style = faintStyle
		}
		bars, labels := t.lane(i, s, width)
		t.out.WriteString(t.paint(style, padded(name, names)) + " " + strings.TrimRight(t.write(bars), " ") + "\n")
		if len(t.Lanes) <= labelled && len(l.Marks) > 0 {
			t.out.WriteString(strings.TrimRight(margin+t.write(labels), " ") + "\n")
		}
	}
	t.more(margin, len(t.Lanes)-t.shown)
	axis := make(row, width)
	for _, tick := range s.ticks(max(1, width/12)) {
		axis.put(min(int(s.end(tick)), width-cells(span(tick))), span(tick), faintStyle)
	}
	t.out.WriteString(strings.TrimRight(margin+t.write(axis), " ") + "\n")
}

// lane draws the bars and marks of a lane, and the labels of the marks.
func (t *terminal) lane(i int, s scale, width int) (bars, labels row) {
	l := t.Lanes[i]
	bars, labels = t.blank(s, width), t.blank(s, width)
	style := agentStyle(i)
	for _, c := range l.Calls {
		call := t.Calls[c]
		colour := style
		if call.End != CallDone {
			colour = redStyle
		}
		bars.fill(s, call.From, call.To, callSymbol(call.End), colour)
	}
	for _, n := range l.Tools {
		tool := t.Tools[n]
		bars.fill(s, tool.From, tool.To, "─", faintStyle)
		bars[min(int(s.start(tool.From)), width-1)] = cell{toolSymbol, style}
	}
	taken := map[int]bool{}
	for _, m := range l.Marks {
		x := min(int(s.end(m.At)), width-1)
		for taken[x] && x+1 < width {
			x++
		}
		taken[x] = true
		colour := style
		switch {
		case m.Wins:
			colour = winnerStyle
		case m.Kind == FailMark:
			colour = redStyle
		case m.Kind == VoteMark && m.Target >= 0:
			colour = agentStyle(m.Target)
		}
		bars[x] = cell{m.symbol(), colour}
		label := m.text()
		if label != "" {
			labels.put(max(0, x+1-cells(label)), label, faintStyle)
		}
	}
	return bars, labels
}

// text returns the label of a mark.
func (m Mark) text() string {
	switch m.Kind {
	case AnswerMark:
		return plain.Line(m.Label)
	case VoteMark, JudgeMark:
		if m.Label == "" {
			break
		}
		return "→ " + plain.Line(m.Label)
	}
	return plain.Line(string(m.Kind))
}

// fill draws a bar, one column wide at least.
func (r row) fill(s scale, from, to time.Duration, char, style string) {
	first := min(int(s.start(from)), len(r)-1)
	for x := first; x <= max(first, min(int(s.end(to)), len(r))-1); x++ {
		r[x] = cell{char, style}
	}
}
