package picture

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/massgen/massgen/internal/coordination/budget"
	"github.com/massgen/massgen/internal/system/plain"
)

// The widths for which Terminal draws: narrower and wider terminals get the nearest of them.
const (
	narrowest, widest = 40, 300
	// labelled is how many lanes may have a line for the labels of their marks.
	labelled = 12
)

// Screen describes the terminal that a picture is drawn on.
type Screen struct {
	// Width is in columns. Height is in lines; 0 draws all agents.
	Width, Height int
	Colour        bool
}

// Terminal draws the picture with characters. No text in it can control the terminal.
func Terminal(p Picture, s Screen) string {
	t := &terminal{Picture: p, width: min(max(s.Width, narrowest), widest), colour: s.Colour}
	t.most = math.MaxInt
	const others = 8 // lines beside the lanes
	if s.Height > 0 {
		t.most = max(s.Height-others, 4)
	}
	t.shown = min(len(p.Lanes), t.most)
	t.head()
	t.timeline()
	t.legend()
	t.answers()
	t.votes()
	t.agents()
	t.rest()
	return t.out.String()
}

// terminal is a picture that is being drawn.
type terminal struct {
	Picture
	out    strings.Builder
	width  int
	colour bool
	// shown is how many lanes are drawn, most is how many entries a list may have.
	shown, most int
}

// line writes a line, cut to the width.
func (t *terminal) line(text string) {
	t.out.WriteString(strings.TrimRight(fit(text, t.width), " ") + "\n")
}

// The colours on a terminal. Agents take theirs in turn.
const (
	boldStyle, faintStyle, redStyle, winnerStyle = "1", "2", "31", "1;33"
)

func agentStyle(lane int) string {
	return []string{"36", "35", "32", "34", "33", "96", "95", "92"}[lane%8]
}

func (t *terminal) paint(style, text string) string {
	if !t.colour || style == "" || text == "" {
		return text
	}
	return "\x1b[" + style + "m" + text + "\x1b[0m"
}

func (t *terminal) head() {
	for _, line := range wrap(t.Question, t.width, 3) {
		t.out.WriteString(t.paint(boldStyle, line) + "\n")
	}
	for _, line := range joinWords(t.summary(), " · ", t.width) {
		t.line(line)
	}
	t.out.WriteString("\n")
}

// state returns the state or the result of the turn in words.
func (p Picture) state() string {
	if !p.Over {
		return "not finished"
	}
	return p.Status
}

// summary returns the result of the turn in phrases.
func (p Picture) summary() []string {
	words := []string{fmt.Sprintf("turn %d of session %s: %s", p.Turn, plain.Line(p.Session), plain.Line(p.state()))}
	if p.Winner != "" && p.agentCount() > 1 {
		words = append(words, "winner "+plain.Line(p.WinnerLabel))
	}
	if n := p.roundCount(); n > 1 {
		words = append(words, plain.Count(n, "round"))
	}
	return append(words, span(p.Length), usage(p.Usage))
}

func (p Picture) agentCount() (n int) {
	for _, l := range p.Lanes {
		if l.IsAgent {
			n++
		}
	}
	return n
}

func (p Picture) roundCount() (n int) {
	for _, r := range p.Rounds {
		if r.Name != finalRound {
			n++
		}
	}
	return n
}

// usage returns the usage of calls in words.
func usage(u budget.Usage) string {
	text := fmt.Sprintf("%s · %s in, %s out tokens", plain.Count(u.Calls, "call"), plain.Thousands(u.InputTokens), plain.Thousands(u.OutputTokens))
	switch {
	case u.CostUSD == nil:
		text += " · unknown cost"
	case *u.CostUSD > 0:
		text += " · " + money(u)
	}
	return text
}

func money(u budget.Usage) string {
	switch {
	case u.CostUSD == nil:
		return "unknown"
	case *u.CostUSD == 0:
		return "$0"
	case *u.CostUSD < 0.01:
		return fmt.Sprintf("$%.6f", *u.CostUSD)
	}
	return fmt.Sprintf("$%.4f", *u.CostUSD)
}

// symbol returns the character of a mark.
func (m Mark) symbol() string {
	switch {
	case m.Kind == VoteMark && m.Void:
		return "△"
	case m.Wins:
		return "★"
	}
	switch m.Kind {
	case AnswerMark, FinalMark:
		return "●"
	case VoteMark:
		return "▲"
	case JudgeMark:
		return "◇"
	case AbstainMark:
		return "○"
	case FailMark:
		return "×"
	case CancelMark:
		return "−"
	case DismissMark:
		return "⊘"
	case NoteMark:
		return "+"
	case PauseMark:
		return "‖"
	case ContinueMark:
		return "›"
	case CutMark:
		return "!"
	}
	return "»"
}

const toolSymbol = "◆"

// legend explains the picture's symbols.
func (t *terminal) legend() {
	var words []string
	add := func(word string) {
		if !slices.Contains(words, word) {
			words = append(words, word)
		}
	}
	for _, c := range t.Calls {
		if c.End == CallDone {
			add(callSymbol(c.End) + " model call")
		} else {
			add(callSymbol(c.End) + " failed or unfinished call")
		}
	}
	if len(t.Tools) > 0 {
		add(toolSymbol + " tool call")
	}
	for _, l := range t.Lanes {
		for _, m := range l.Marks {
			switch {
			case m.Wins:
				add("★ winning answer")
			case m.Kind == VoteMark && m.Void:
				add("△ vote that does not count")
			default:
				add(m.symbol() + " " + plain.Line(string(m.Kind)))
			}
		}
	}
	t.out.WriteString("\n")
	for _, line := range joinWords(words, "  ", t.width) {
		t.out.WriteString(t.paint(faintStyle, line) + "\n")
	}
}

// joinWords joins phrases to lines of a width.
func joinWords(phrases []string, between string, width int) (lines []string) {
	line := ""
	for _, phrase := range phrases {
		if line != "" && cells(line+between+phrase) > width {
			lines, line = append(lines, line), ""
		}
		if line != "" {
			line += between
		}
		line += phrase
	}
	return append(lines, fit(line, width))
}

// title begins a part below the timeline.
func (t *terminal) title(text string) { t.out.WriteString("\n" + t.paint(boldStyle, text) + "\n") }

// entry writes a paragraph of at most so many lines. Its name stands out from it, before it or on a
// line of its own.
func (t *terminal) entry(name, style, text string, most int) {
	const indent = "  "
	name = fit(plain.Line(name), t.width-len(indent))
	line := indent + t.paint(style, name)
	text = strings.Join(strings.Fields(plain.Line(text)), " ")
	room := t.width - cells(name) - 2*len(indent)
	switch {
	case text == "":
		t.out.WriteString(line + "\n")
	case cells(text) <= room, most == 1 && room > 10:
		t.out.WriteString(line + indent + fit(text, room) + "\n")
	default:
		t.out.WriteString(line + "\n")
		for _, l := range wrap(text, t.width-2*len(indent), most) {
			t.out.WriteString(indent + indent + l + "\n")
		}
	}
}

func (t *terminal) answers() {
	if len(t.Answers) == 0 {
		return
	}
	t.title("answers")
	width := 0
	for _, a := range t.Answers {
		width = max(width, cells(plain.Line(a.Label)))
	}
	for i, a := range t.Answers {
		if i >= t.most && !a.Wins {
			continue
		}
		style, star := agentStyle(t.laneNamed(a.Agent)), "  "
		if a.Wins {
			style, star = winnerStyle, "★ "
		}
		t.entry(star+padded(plain.Line(a.Label), min(width, t.width/2)), style, a.Text, 1)
	}
	t.more("    ", len(t.Answers)-t.most)
}

func (p Picture) laneNamed(agent string) int {
	return max(0, slices.IndexFunc(p.Lanes, func(l Lane) bool { return l.Name == agent }))
}

func (t *terminal) votes() {
	for rest := t.Votes; len(rest) > 0; {
		n := 1
		for n < len(rest) && rest[n].Round == rest[0].Round {
			n++
		}
		t.title(fmt.Sprintf("votes of round %d", rest[0].Round))
		for _, v := range rest[:min(n, t.most)] {
			text := v.Reason
			if v.Void != "" {
				text = "does not count: " + v.Void + ". " + text
			}
			t.entry(v.Voter+" → "+v.Label, agentStyle(t.laneNamed(v.Voter)), text, 3)
		}
		t.more("  ", n-t.most)
		rest = rest[n:]
	}
}

// rest writes errors, notes, warnings and the winner.
func (t *terminal) rest() {
	for i, l := range t.Lanes {
		if l.Error != "" {
			t.out.WriteString("\n")
			t.entry(l.Name+" "+l.State, agentStyle(i), l.Error, 3)
		}
	}
	for i, n := range t.Notes {
		if i == 0 {
			t.title("notes")
		}
		t.entry(fmt.Sprintf("seen by %s", plain.Count(n.SeenBy, "agent")), "", n.Text, 3)
	}
	if len(t.Warnings) > 0 {
		t.title("warnings")
		for _, w := range t.Warnings {
			lines := wrap(w, t.width-4, 4)
			t.out.WriteString("  - " + strings.Join(lines, "\n    ") + "\n")
		}
	}
	t.out.WriteString("\n")
	t.out.WriteString(t.paint(boldStyle, strings.Join(wrap(t.verdict(), t.width, 3), "\n")) + "\n")
}

// verdict returns who won, or why nobody did.
func (p Picture) verdict() string {
	switch {
	case !p.Over:
		return "no winner yet: the turn is not finished"
	case p.Winner == "":
		return "no winner: " + p.Status
	case p.agentCount() == 1:
		return "answered by " + p.Winner
	}
	votes, all := 0, 0
	for _, v := range p.Votes {
		if v.Void == "" {
			all++
			if v.Label == p.WinnerLabel {
				votes++
			}
		}
	}
	text := "winner: " + p.WinnerLabel
	if all > 0 {
		text += fmt.Sprintf(" with %d of %s", votes, plain.Count(all, "vote"))
	}
	return text
}

func callSymbol(end CallEnd) string {
	if end == CallDone {
		return "━"
	}
	return "╍"
}
