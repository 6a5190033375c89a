package talk

import (
	"fmt"
	"strings"
	"time"

	"github.com/charmbracelet/x/ansi"

	"github.com/massgen/massgen/coordinator/report"
	"github.com/massgen/massgen/internal/coordination/step"
	"github.com/massgen/massgen/internal/system/plain"
)

// liveLines draw a turn on a terminal while it runs: a line for each agent.
type liveLines struct {
	state *report.State
	// stateWidth is the width of the widest phase so far: the columns behind it do not jump.
	stateWidth int
	// isStreamed reports whether the text of the one agent is shown elsewhere.
	isStreamed bool
}

// mostTail is how many bytes of an agent's text the lines may show.
const mostTail = 4 << 10

// bytesOfToken is about how many bytes a token has, for calls that have not ended.
const bytesOfToken = 4

func newLiveLines(state *report.State) *liveLines {
	return &liveLines{state: state, stateWidth: len(step.PhaseWaiting)}
}

// The columns of a line, and the narrowest screens that have room for tokens and words.
const (
	leastState         = 14 // as in "answered ada.1"
	widthOfTokens      = 14
	screenForTokens    = 60
	leastWords         = 8
	betweenLiveColumns = 2
)

// lines draws at most so many lines of at most width columns. Mask hides secrets.
func (l *liveLines) lines(now time.Time, width, most int, mask func(string) string) []string {
	agents := l.state.Agents
	shown := agents
	if len(shown) > most {
		shown = shown[:max(most-1, 0)]
	}
	idWidth := 0
	for _, a := range agents {
		idWidth, l.stateWidth = max(idWidth, ansi.StringWidth(a.ID)), max(l.stateWidth, ansi.StringWidth(a.Doing))
	}
	idWidth = min(idWidth, width/5)
	stateWidth := min(l.stateWidth, max(width/4, leastState))
	var lines []string
	for i := range shown {
		a := &shown[i]
		gap := strings.Repeat(" ", betweenLiveColumns)
		line := padded(a.ID, idWidth) + gap + padded(a.Doing, stateWidth) + fmt.Sprintf("%7s", secondsOf(a, now))
		if width >= screenForTokens {
			line += fmt.Sprintf("%*s", widthOfTokens, tokensOf(a))
		}
		line += gap
		if room := width - ansi.StringWidth(line); room >= leastWords && !(l.isStreamed && a.Phase == step.PhaseWriting) {
			line += lastWords(mask(a.Tail(mostTail)), room)
		}
		lines = append(lines, strings.TrimRight(ansi.Truncate(line, width, "…"), " "))
	}
	if more := len(agents) - len(shown); more > 0 && most > 0 {
		lines = append(lines, ansi.Truncate(fmt.Sprintf("and %d more", more), width, "…"))
	}
	return lines
}

// secondsOf returns how long an agent's step runs, or took.
func secondsOf(a *report.AgentState, now time.Time) string {
	took := a.Took
	switch {
	case a.Began.IsZero():
		return ""
	case a.Phase.IsBusy():
		took = max(now.Sub(a.Began), 0)
	}
	return fmt.Sprintf("%d s", int(took.Seconds()))
}

// tokensOf returns how many tokens an agent's calls took, about as many while one is under way.
func tokensOf(a *report.AgentState) string {
	tokens := a.Usage.InputTokens + a.Usage.OutputTokens
	switch {
	case a.Streamed > 0:
		return "~" + plain.Thousands(tokens+a.Streamed/bytesOfToken) + " tokens"
	case tokens > 0:
		return plain.Thousands(tokens) + " tokens"
	}
	return ""
}

// padded cuts or fills a text to a width.
func padded(text string, width int) string {
	text = ansi.Truncate(plain.Line(text), width, "…")
	return text + strings.Repeat(" ", max(width-ansi.StringWidth(text), 0))
}

// lastWords is the end of a text on one line of a width.
func lastWords(text string, width int) string {
	const bytesOfColumn = 8 // of most texts far fewer, as few as one
	text = strings.Join(strings.Fields(plain.Line(plain.LastBytes(text, bytesOfColumn*width))), " ")
	over := ansi.StringWidth(text) - width
	if over <= 0 {
		return text
	}
	cut := ansi.TruncateLeft(text, over+1, "…")
	for over++; ansi.StringWidth(cut) > width; over++ { // a wide letter was cut in two
		cut = ansi.TruncateLeft(text, over+1, "…")
	}
	return cut
}
