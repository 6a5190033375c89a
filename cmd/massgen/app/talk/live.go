package talk

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"

	"github.com/massgen/massgen/coordinator/report"
	"github.com/massgen/massgen/internal/coordination/budget"
	"github.com/massgen/massgen/internal/system/plain"
)

// liveLines are what a terminal shows of a turn while it runs: a line for each agent. They follow
// from the turn's events and the time alone.
type liveLines struct {
	agents []liveAgent
	// stateWidth is that of the widest state so far: the columns behind it do not jump.
	stateWidth int
	// isStreamed reports whether the text of the one agent is shown elsewhere.
	isStreamed bool
}

// liveAgent is what the line of one agent shows.
type liveAgent struct {
	id, state string
	isBusy    bool
	began     time.Time     // of the step
	took      time.Duration // by the step, if it has ended
	before    int           // tokens of earlier steps
	tokens    int           // of all calls that have ended
	streamed  int           // bytes of the call under way
	tail      string        // the end of what the step has written
	isAside   bool          // a call on the agent's behalf is under way: its text is not the agent's
}

// mostTail is how many bytes are kept of an agent's text.
const mostTail = 4 << 10

// bytesOfToken is about how many bytes a token has, for calls that have not ended.
const bytesOfToken = 4

func newLiveLines(ids []string) *liveLines {
	l := &liveLines{stateWidth: len(waiting)}
	for _, id := range ids {
		l.agents = append(l.agents, liveAgent{id: id, state: waiting})
	}
	return l
}

// agent returns the agent of an id. A call that belongs to none writes to one that is not shown.
func (l *liveLines) agent(id string) *liveAgent {
	for i := range l.agents {
		if l.agents[i].id == id {
			return &l.agents[i]
		}
	}
	return &liveAgent{}
}

// apply takes an event.
func (l *liveLines) apply(ev report.Event) {
	switch ev := ev.(type) {
	case report.StepStarted:
		a := l.agent(ev.Agent)
		*a = liveAgent{id: a.id, state: waiting, isBusy: true, began: ev.At, before: a.tokens, tokens: a.tokens}
	case report.TextDelta:
		l.agent(ev.Agent).write(writing, ev.Text)
	case report.Thinking:
		l.agent(ev.Agent).write("thinking", ev.Text)
	case report.CallStarted:
		l.agent(ev.Agent).wait()
	case report.HeldUp:
		l.agent(ev.Agent).wait()
	case report.Retrying:
		l.agent(ev.Agent).wait()
	case report.FellBack:
		l.agent(ev.Agent).wait()
	case report.CallEnded:
		a := l.agent(ev.Agent)
		a.tokens, a.streamed = a.tokens+allTokens(ev.Usage), 0
	case report.ToolStarted:
		a := l.agent(ev.Agent)
		a.state, a.tail = "tool "+plain.Line(ev.Tool.Name), ""
	case report.ToolEnded:
		l.agent(ev.Agent).wait()
	case report.SidecallStarted:
		l.agent(ev.Agent).isAside = true
	case report.SidecallEnded:
		l.agent(ev.Agent).isAside = false
	case report.SidecallFailed:
		l.agent(ev.Agent).isAside = false
	case report.Dismissed:
		a := l.agent(ev.Agent)
		a.state, a.tail, a.isBusy = dismissed, "", false
	case stepEnd:
		l.agent(ev.End().Agent).end(ev)
	}
	for _, a := range l.agents {
		l.stateWidth = max(l.stateWidth, ansi.StringWidth(a.state))
	}
}

// The states of an agent that hears nothing from its model, and of one whose answer comes.
const (
	waiting = "waiting"
	writing = "writing"
)

// dismissed is the state of an agent without which the turn goes on, whatever its call still says.
const dismissed = "dismissed"

func (a *liveAgent) wait() { a.state, a.tail, a.streamed = waiting, "", 0 }

func (a *liveAgent) write(state, text string) {
	if a.isAside || a.state == dismissed {
		return
	}
	if a.state != state {
		a.state, a.tail = state, ""
	}
	a.streamed += len(text)
	a.tail += text
	if len(a.tail) > 2*mostTail {
		a.tail = lastBytes(a.tail, mostTail)
	}
}

func (a *liveAgent) end(ev stepEnd) {
	end := ev.End()
	a.isBusy, a.isAside, a.took = false, false, end.Elapsed
	a.tokens, a.streamed, a.tail = a.before+allTokens(end.Usage), 0, ""
	switch ev := ev.(type) {
	case report.Answered:
		a.state = strings.TrimSpace("answered " + ev.Label)
		if ev.Void != "" {
			a.state = "answered too late"
		}
	case report.Voted:
		a.state = "voted for " + ev.Label
		if ev.Void != "" {
			a.state = "void vote for " + ev.Label
		}
	case report.Abstained:
		a.state = "abstained"
	case report.Failed:
		a.state = "failed"
	case report.Cancelled:
		if a.state != dismissed {
			a.state = "cancelled"
		}
	case report.Presented:
		a.state = "presented"
	}
}

func allTokens(u budget.Usage) int { return u.InputTokens + u.OutputTokens }

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
	shown := l.agents
	if len(shown) > most {
		shown = shown[:max(most-1, 0)]
	}
	idWidth := 0
	for _, a := range l.agents {
		idWidth = max(idWidth, ansi.StringWidth(a.id))
	}
	idWidth = min(idWidth, width/5)
	stateWidth := min(l.stateWidth, max(width/4, leastState))
	var lines []string
	for _, a := range shown {
		gap := strings.Repeat(" ", betweenLiveColumns)
		line := padded(a.id, idWidth) + gap + padded(a.state, stateWidth) + fmt.Sprintf("%7s", a.seconds(now))
		if width >= screenForTokens {
			line += fmt.Sprintf("%*s", widthOfTokens, a.tokenText())
		}
		line += gap
		if room := width - ansi.StringWidth(line); room >= leastWords && a.isBusy && !(l.isStreamed && a.state == writing) {
			line += lastWords(mask(a.tail), room)
		}
		lines = append(lines, strings.TrimRight(ansi.Truncate(line, width, "…"), " "))
	}
	if more := len(l.agents) - len(shown); more > 0 && most > 0 {
		lines = append(lines, ansi.Truncate(fmt.Sprintf("and %d more", more), width, "…"))
	}
	return lines
}

// seconds is how long the agent's step runs, or took.
func (a liveAgent) seconds(now time.Time) string {
	took := a.took
	switch {
	case a.began.IsZero():
		return ""
	case a.isBusy:
		took = max(now.Sub(a.began), 0)
	}
	return fmt.Sprintf("%d s", int(took.Seconds()))
}

// tokenText is how many tokens the agent's calls took, about as many while one is under way.
func (a liveAgent) tokenText() string {
	switch {
	case a.streamed > 0:
		return "~" + plain.Thousands(a.tokens+a.streamed/bytesOfToken) + " tokens"
	case a.tokens > 0:
		return plain.Thousands(a.tokens) + " tokens"
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
	text = strings.Join(strings.Fields(plain.Line(lastBytes(text, bytesOfColumn*width))), " ")
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

// lastBytes is the end of a text, of at most so many bytes, which begins with a whole character.
func lastBytes(text string, most int) string {
	if len(text) <= most {
		return text
	}
	at := len(text) - most
	for at < len(text) && !utf8.RuneStart(text[at]) {
		at++
	}
	return text[at:]
}
