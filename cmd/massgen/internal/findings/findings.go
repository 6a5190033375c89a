// Package findings writes a judge's analysis, and how a turn was decided, as lines for people.
package findings

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/massgen/massgen/cmd/massgen/internal/signs"
	"github.com/massgen/massgen/contextbuild"
	"github.com/massgen/massgen/coordinator/report"
	"github.com/massgen/massgen/internal/system/plain"
)

// Writer writes analyses. The zero Writer writes short ones without signs.
type Writer struct {
	// Agents are the ids of the panel's agents, in the config's order, for their signs.
	Agents []string
	// IsColoured paints each answer's label in the color of its agent.
	IsColoured bool
	// IsWhole adds the quotations below each item.
	IsWhole bool
}

// list is a heading with its items.
type list struct {
	heading string
	items   []string
	count   int
}

// Lines returns the lines of an analysis: its items below headings with their counts. Each item begins with
// the answers that say it, and a quotation that is not in its answer is marked. It returns nil without an
// analysis.
func (w Writer) Lines(a *contextbuild.Analysis) []string {
	if a == nil {
		return nil
	}
	best := "analysis: " + w.answer(a.Best) + " is best"
	if a.Why != "" {
		best += ": " + plain.Line(a.Why)
	}
	lines := []string{best}
	for _, l := range w.lists(a) {
		lines = append(lines, fmt.Sprintf("  %s (%d)", l.heading, l.count))
		for _, item := range l.items {
			lines = append(lines, "    "+item)
		}
	}
	return lines
}

// Headings returns the headings of an analysis with their counts, on one line. It returns "" without an
// analysis.
func (w Writer) Headings(a *contextbuild.Analysis) string {
	if a == nil {
		return ""
	}
	parts := []string{}
	for _, l := range w.lists(a) {
		parts = append(parts, fmt.Sprintf("%s (%d)", l.heading, l.count))
	}
	return "analysis: " + w.answer(a.Best) + " is best" + strings.TrimSuffix("; "+strings.Join(parts, ", "), "; ")
}

// lists returns the lists that have items.
func (w Writer) lists(a *contextbuild.Analysis) []list {
	lists := []list{w.claims("consensus", a.Consensus), w.claims("partial", a.Partial), w.claims("unique", a.Unique)}
	points := list{heading: "contradictions", count: len(a.Contradictions)}
	for _, c := range a.Contradictions {
		points.items = append(points.items, plain.Line(c.About))
		for _, side := range w.claims("", c.Sides).items {
			points.items = append(points.items, "  "+side)
		}
	}
	spots := list{heading: "blind spots", count: len(a.BlindSpots)}
	for _, spot := range a.BlindSpots {
		spots.items = append(spots.items, plain.Line(spot))
	}
	return slices.DeleteFunc(append(lists, points, spots), func(l list) bool { return l.count == 0 })
}

// claims returns the lines of claims below a heading.
func (w Writer) claims(heading string, claims []contextbuild.Claim) list {
	l := list{heading: heading, count: len(claims)}
	for _, c := range claims {
		var names []string
		for _, label := range c.Answers {
			names = append(names, w.answer(label))
		}
		line, missing := strings.Join(names, ", ")+": "+plain.Line(c.Claim), 0
		for _, q := range c.Quotes {
			if !q.Found {
				missing++
			}
		}
		if missing > 0 && !w.IsWhole {
			line += fmt.Sprintf(" (%s not found)", plain.Count(missing, "quotation"))
		}
		l.items = append(l.items, line)
		if w.IsWhole {
			l.items = append(l.items, w.quotes(c.Quotes)...)
		}
	}
	return l
}

// quotes returns a line for each quotation.
func (w Writer) quotes(quotes []contextbuild.Quote) (lines []string) {
	for _, q := range quotes {
		line := fmt.Sprintf("    %s: “%s”", w.answer(q.Answer), plain.Line(q.Text))
		if !q.Found {
			line += " (not found)"
		}
		lines = append(lines, line)
	}
	return lines
}

// answer returns the label of an answer after its agent's sign.
func (w Writer) answer(label string) string {
	label = plain.Line(label)
	agent := label
	if at := strings.LastIndexByte(label, '.'); at >= 0 {
		agent = label[:at]
	}
	return signs.Signed(slices.Index(w.Agents, agent), label, w.IsColoured)
}

// Turn returns the lines about how a turn was decided, and its whole analysis. It returns nil for a turn
// without a strategy. Agents are as in Writer.
func Turn(d *report.Decision, agents []string, isColoured bool) []string {
	lines := Decided(d)
	if d != nil {
		lines = append(lines, Writer{Agents: agents, IsColoured: isColoured, IsWhole: true}.Lines(d.Analysis)...)
	}
	return lines
}

// Decided returns the lines about how a turn was decided, without its analysis. It returns nil for a turn
// without a strategy.
func Decided(d *report.Decision) []string {
	if d == nil {
		return nil
	}
	line := "decided by " + d.Strategy
	if reason := d.Reason(); reason != "" {
		line += ": " + reason
	}
	if d.Saved != "" {
		line += " · " + d.Saved
	}
	if d.Agreement != nil {
		line += fmt.Sprintf(" · agreement %.0f %%", math.Round(*d.Agreement*100))
	}
	lines := []string{line}
	for _, c := range d.Checks {
		line := "check of " + plain.Line(c.Label) + " passed"
		if !c.Passed {
			line = fmt.Sprintf("check of %s failed (exit %d): %s", plain.Line(c.Label), c.Exit, plain.Line(strings.TrimSpace(c.Output)))
		}
		lines = append(lines, plain.Cut(line, mostOfCheck))
	}
	for _, f := range d.Flips {
		lines = append(lines, fmt.Sprintf("%s changed its %s in round %d: %s, then %s", plain.Line(f.Agent), f.Kind, f.Round, plain.Line(f.From), plain.Line(f.To)))
	}
	return lines
}

// mostOfCheck is the most characters of a line about a check.
const mostOfCheck = 200
