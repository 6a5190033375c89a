package picture

import (
	"encoding/xml"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/massgen/massgen/internal/system/plain"
)

// The measures of the picture in pixels.
const (
	svgWidth  = 960.0
	margin    = 28.0
	svgGap    = 50.0 // between two rounds
	radius    = 11.0 // of a mark
	cellWidth = 6.6  // of a character of a label
	// longestName is how many columns of a name are drawn.
	longestName = 24
)

// SVG draws the picture as one file. It has no script and refers to no other file.
func SVG(p Picture) string { return drawSVG(p, false) }

// drawSVG draws the picture as a file, or as a part of an HTML page. The page has the question, and an
// element with an id for each call, to which the bars link.
func drawSVG(p Picture, isPart bool) string {
	d := &drawing{Picture: p, isPart: isPart, left: margin + 40, y: margin}
	for _, l := range p.Lanes {
		name := l.Name
		if l.Wins {
			name = "★ " + name
		}
		d.left = max(d.left, margin+18+8.6*float64(min(cells(plain.Line(name)), longestName)), margin+18+cellWidth*float64(min(cells(plain.Line(l.Model)), longestName)))
	}
	d.plot = svgWidth - margin - d.left
	d.gap = svgGap
	d.scale = newScale(p, d.plot, d.gap)
	d.size = min(radius, max(d.scale.gap/2-2, 4))
	switch {
	case len(p.Lanes) <= labelled:
		d.lane, d.bar = 62, 18
	case len(p.Lanes) <= 30:
		d.lane, d.bar = 30, 12
	default:
		d.lane, d.bar, d.size = 18, 8, min(d.size, 6)
	}
	d.heading()
	d.timeline()
	d.legend()
	height := d.y + margin - 8
	role := ` role="img"`
	if isPart {
		role = ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" class="picture" width="%.0f" height="%.0f" viewBox="0 0 %.0f %.0f"%s>`+"\n", svgWidth, height, svgWidth, height, role)
	if !isPart {
		fmt.Fprintf(&b, "<title>%s</title>\n<style>\n%s</style>\n", escaped(p.Question), style())
	}
	fmt.Fprintf(&b, `<rect class="card" x="0.5" y="0.5" width="%.0f" height="%.0f" rx="14"/>`+"\n", svgWidth-1, height-1)
	b.WriteString(d.out.String() + "</svg>\n")
	return b.String()
}

// drawing is a picture that is being drawn.
type drawing struct {
	Picture
	out    strings.Builder
	isPart bool
	scale  scale
	// left is where the lanes begin, plot is their width, and y is the height of the picture so far.
	left, plot, gap, y float64
	lane, bar, size    float64
}

// escaped returns a text on one line, escaped for XML and HTML.
func escaped(text string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(plain.Line(text))) // the builder never fails
	return b.String()
}

// text writes a text at a place. The class selects its look, the anchor is start, middle or end.
func (d *drawing) text(x, y float64, class, anchor, text string) {
	fmt.Fprintf(&d.out, `<text x="%.1f" y="%.1f" class="%s" text-anchor="%s">%s</text>`+"\n", x, y, class, anchor, escaped(text))
}

func (d *drawing) heading() {
	if !d.isPart {
		for _, line := range wrap(d.Question, 78, 2) {
			d.y += 22
			d.text(margin, d.y-4, "title", "start", line)
			d.y += 4
		}
		for _, line := range joinWords(d.summary(), " · ", 128) {
			d.y += 18
			d.text(margin, d.y-2, "soft", "start", line)
		}
		d.y += 18
	}
}

func (d *drawing) timeline() {
	d.y += 16
	top := d.y
	bottom := top + 8 + d.lane*float64(len(d.Lanes))
	for i, l := range d.Lanes {
		if l.Wins {
			fmt.Fprintf(&d.out, `<rect class="winner" x="%.1f" y="%.1f" width="%.1f" height="%.1f" rx="10"/>`+"\n", margin-12, d.laneTop(top, i)+1, svgWidth-2*margin+24, d.lane-2)
		}
	}
	if d.scale.gap >= 12 {
		for _, b := range d.scale.bounds {
			x := d.left + d.scale.start(b) - d.scale.gap*0.22
			fmt.Fprintf(&d.out, `<line class="bound" x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f"/>`+"\n", x, top-12, x, bottom)
		}
	}
	free := 0.0
	for _, r := range d.Rounds {
		if x := d.left + d.scale.start(r.At); x >= free {
			d.text(x, top-2, "round", "start", r.Name)
			free = x + float64(cells(r.Name))*7 + 8
		}
	}
	d.links(top)
	for i := range d.Lanes {
		d.drawLane(i, d.laneTop(top, i))
	}
	d.y = bottom
	d.axis()
}

func (d *drawing) laneTop(top float64, lane int) float64 { return top + 8 + d.lane*float64(lane) }

// middle returns the middle of a lane's bars.
func (d *drawing) middle(top float64) float64 {
	if d.lane > 40 {
		return top + 26
	}
	return top + d.lane/2
}

// colour returns the class of an agent's colour.
func (d *drawing) colour(lane int) string {
	if lane < 0 || lane >= len(d.Lanes) || !d.Lanes[lane].IsAgent {
		return "grey"
	}
	return fmt.Sprintf("c%d", lane%8)
}

// links draws a curve from each vote for the winning answer to that answer.
func (d *drawing) links(top float64) {
	if len(d.Lanes) > labelled {
		return
	}
	for w, winner := range d.Lanes {
		for _, a := range winner.Marks {
			if !a.Wins || a.Kind != AnswerMark {
				continue
			}
			x, y := d.markX(a), d.middle(d.laneTop(top, w))
			for v, voter := range d.Lanes {
				for _, m := range voter.Marks {
					if m.Kind == VoteMark && !m.Void && m.Label == a.Label && v != w {
						fromX, fromY := d.markX(m), d.middle(d.laneTop(top, v))
						bend := (fromX - x) / 2
						fmt.Fprintf(&d.out, `<path class="link %s" d="M%.1f %.1fC%.1f %.1f %.1f %.1f %.1f %.1f"/>`+"\n",
							d.colour(w), fromX, fromY, fromX-bend, fromY, x+bend, y, x, y)
					}
				}
			}
		}
	}
}

// markX returns the middle of a mark: after the bar that it ends.
func (d *drawing) markX(m Mark) float64 { return d.left + d.scale.end(m.At) + d.size + 3 }

func (d *drawing) drawLane(i int, top float64) {
	l := d.Lanes[i]
	y := d.middle(top)
	name := fit(plain.Line(l.Name), longestName)
	class := "name " + d.colour(i)
	if l.Wins {
		name = "★ " + name
	}
	d.text(margin, y+4, class, "start", name)
	if d.lane > 40 && l.IsAgent && l.Model != "" && !strings.EqualFold(l.Model, l.Name) {
		d.text(margin, y+19, "small", "start", fit(plain.Line(l.Model), longestName))
	}
	fmt.Fprintf(&d.out, `<line class="rail" x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f"/>`+"\n", d.left, y, d.left+d.plot, y)
	for _, c := range l.Calls {
		d.drawCall(c, i, y)
	}
	for _, t := range l.Tools {
		d.drawTool(d.Tools[t], i, y)
	}
	last := d.left
	for _, m := range l.Marks {
		x := d.markX(m)
		d.drawMark(m, i, x, y)
		if label := m.text(); d.lane > 40 && label != "" {
			width := float64(cells(label)) * cellWidth
			if right := x + d.size; right-width >= last {
				class := "label"
				if m.Wins {
					class = "label strong"
				}
				d.text(right, y+27, class, "end", label)
				last = right + 8
			}
		}
	}
}

// box draws a rounded bar between two times.
func (d *drawing) box(class string, from, to time.Duration, y, height float64) {
	x := d.left + d.scale.start(from)
	width := max(d.left+d.scale.end(to)-x, 3)
	fmt.Fprintf(&d.out, `<rect class="%s" x="%.1f" y="%.1f" width="%.1f" height="%.1f" rx="%.1f"/>`, class, x, y-height/2, width, height, min(height/2, width/2, 7))
}

func (d *drawing) drawCall(n, lane int, y float64) {
	c := d.Calls[n]
	if d.isPart {
		fmt.Fprintf(&d.out, `<a href="#call-%d">`, n+1)
	}
	fmt.Fprintf(&d.out, "<g><title>%s</title>", escaped(c.name()+" · "+c.outcome()))
	class := "call " + d.colour(lane)
	if c.End != CallDone {
		class = "call broken"
	}
	d.box(class, c.From, c.To, y, d.bar)
	d.out.WriteString("</g>")
	if d.isPart {
		d.out.WriteString("</a>")
	}
	d.out.WriteString("\n")
}

// outcome returns the end of a call in words.
func (c Call) outcome() string {
	text := span(c.To - c.From)
	switch {
	case c.End == CallFailed:
		text += " · failed: " + c.Why
	case c.End == CallLost:
		text += " · lost, and made again"
	case c.End != CallDone:
		text += " · " + string(c.End)
	case c.Usage.UnknownCalls > 0:
	default:
		text += fmt.Sprintf(" · %s in, %s out tokens", plain.Thousands(c.Usage.InputTokens), plain.Thousands(c.Usage.OutputTokens))
	}
	return text
}

// name returns the name of a call within its turn.
func (c Call) name() string {
	if c.Key.Agent == "" {
		return c.Key.Purpose
	}
	return fmt.Sprintf("%s, round %d, %s %d", c.Key.Agent, c.Key.Round, c.Key.Purpose, c.Key.Index+1)
}

func (d *drawing) drawTool(t Tool, lane int, y float64) {
	class := "tool " + d.colour(lane)
	if t.IsError {
		class = "tool broken"
	}
	fmt.Fprintf(&d.out, "<g><title>%s</title>", escaped(fmt.Sprintf("tool %s · %s · %s", t.Name, t.State, span(t.To-t.From))))
	d.box(class, t.From, t.To, y, d.bar*0.34)
	x := d.left + d.scale.start(t.From)
	r := d.bar * 0.33
	fmt.Fprintf(&d.out, `<path class="%s" d="M%.1f %.1fl%.1f %.1fl%.1f %.1fl%.1f %.1fz"/></g>`+"\n", class, x, y-r, r, r, -r, r, -r, -r)
}

func (d *drawing) drawMark(m Mark, lane int, x, y float64) {
	title := string(m.Kind)
	if m.Label != "" {
		title += " " + m.Label
	}
	if m.Void {
		title += ", which does not count"
	}
	fmt.Fprintf(&d.out, "<g><title>%s</title>", escaped(title))
	switch m.Kind {
	case AnswerMark, FinalMark:
		d.drawAnswer(m, lane, x, y)
	case VoteMark:
		class := "vote " + d.colour(m.Target)
		if m.Void {
			class += " void"
		}
		r := d.size - 1
		fmt.Fprintf(&d.out, `<rect class="%s" x="%.1f" y="%.1f" width="%.1f" height="%.1f" rx="%.1f"/>`, class, x-r, y-r, 2*r, 2*r, r*0.45)
		fmt.Fprintf(&d.out, `<path class="tick %s" d="M%.1f %.1fl%.1f %.1fl%.1f %.1f"/>`, class, x-r*0.5, y, r*0.38, r*0.42, r*0.64, -r*0.85)
	default:
		class := "other"
		if m.Kind == FailMark {
			class = "other broken"
		}
		fmt.Fprintf(&d.out, `<circle class="%s" cx="%.1f" cy="%.1f" r="%.1f"/>`, class, x, y, d.size*0.82)
		fmt.Fprintf(&d.out, `<text class="sign" x="%.1f" y="%.1f" text-anchor="middle">%s</text>`, x, y+4, m.symbol())
	}
	d.out.WriteString("</g>\n")
}

// drawAnswer draws a disc with the answer's number; the winning one has a ring and a star.
func (d *drawing) drawAnswer(m Mark, lane int, x, y float64) {
	class := "answer " + d.colour(lane)
	if m.Void {
		class += " void"
	}
	if m.Wins {
		fmt.Fprintf(&d.out, `<circle class="ring" cx="%.1f" cy="%.1f" r="%.1f"/>`, x, y, d.size+4)
	}
	fmt.Fprintf(&d.out, `<circle class="%s" cx="%.1f" cy="%.1f" r="%.1f"/>`, class, x, y, d.size)
	sign := m.Label[strings.LastIndexByte(m.Label, '.')+1:]
	if m.Wins || sign == "" {
		sign = "★"
	}
	if d.size > 7 {
		fmt.Fprintf(&d.out, `<text class="number" x="%.1f" y="%.1f" text-anchor="middle">%s</text>`, x, y+4.2, escaped(sign))
	}
}

func (d *drawing) axis() {
	d.y += 18
	free := 0.0
	for _, tick := range d.scale.ticks(8) {
		if x := d.left + d.scale.end(tick); x >= free {
			d.text(x, d.y, "small", "start", span(tick))
			free = x + 60
		}
	}
	d.y += 14
}

// legend explains the picture's symbols. In a file of its own it also names the winner.
func (d *drawing) legend() {
	d.y += 18
	y, x := d.y, margin+6
	item := func(width float64, text string, draw func(x float64)) {
		draw(x)
		d.text(x+width, y+4, "small", "start", text)
		x += width + float64(cells(text))*6 + 22
	}
	item(20, "model call", func(x float64) {
		fmt.Fprintf(&d.out, `<rect class="call grey" x="%.1f" y="%.1f" width="18" height="10" rx="5"/>`, x-6, y-5)
	})
	if slices.ContainsFunc(d.Calls, func(c Call) bool { return c.End != CallDone }) {
		item(20, "failed or unfinished call", func(x float64) {
			fmt.Fprintf(&d.out, `<rect class="call broken" x="%.1f" y="%.1f" width="18" height="10" rx="5"/>`, x-6, y-5)
		})
	}
	if len(d.Tools) > 0 {
		item(12, "tool call", func(x float64) {
			fmt.Fprintf(&d.out, `<path class="tool grey" d="M%.1f %.1fl5 5l-5 5l-5 -5z"/>`, x, y-5)
		})
	}
	item(14, "answer", func(x float64) { fmt.Fprintf(&d.out, `<circle class="answer grey" cx="%.1f" cy="%.1f" r="7"/>`, x, y) })
	if len(d.Votes) > 0 {
		item(14, "vote", func(x float64) {
			fmt.Fprintf(&d.out, `<rect class="vote grey" x="%.1f" y="%.1f" width="13" height="13" rx="3.5"/>`, x-6.5, y-6.5)
		})
	}
	if slices.ContainsFunc(d.Votes, func(v Vote) bool { return v.Void != "" }) {
		item(14, "vote that does not count", func(x float64) {
			fmt.Fprintf(&d.out, `<rect class="vote grey void" x="%.1f" y="%.1f" width="13" height="13" rx="3.5"/>`, x-6.5, y-6.5)
		})
	}
	if !d.isPart {
		verdict := fit(d.verdict(), 60)
		if x+float64(cells(verdict))*8 > svgWidth-margin {
			d.y += 24
		}
		d.text(svgWidth-margin, d.y+4, "verdict", "end", verdict)
	}
	d.y += 12
}
