package report

import (
	"strings"

	"github.com/massgen/massgen/internal/system/plain"
)

// AnswerText reads a turn's events for the text of its answer. An agent that is alone, presents or synthesizes writes
// that text, so it streams; until then nobody knows the winner. The zero value is ready.
type AnswerText struct {
	author string
	// isChecked reports whether the text must pass a check first, so that the answer comes in one piece.
	isChecked bool
	// call is the author's open model call, and said the text of that call.
	call string
	said strings.Builder
	// isSent reports whether any text was returned, and isApart whether the next one begins a paragraph.
	isSent, isApart bool
	isOver          bool
}

// Author returns the agent whose text is the answer, "" while nobody knows it.
func (a *AnswerText) Author() string { return a.author }

// Call returns the author's open model call, "" for none.
func (a *AnswerText) Call() string { return a.call }

// IsWriting reports whether a text of the open call was returned.
func (a *AnswerText) IsWriting() bool { return a.said.Len() > 0 }

// IsOver reports whether the turn has its result, so that only events of calls of no agent may follow.
func (a *AnswerText) IsOver() bool { return a.isOver }

// Apply returns the next piece of the answer, "" for most events. A text that does not count gets a line that begins
// with "(void:", because its pieces were returned already.
func (a *AnswerText) Apply(ev Event) string {
	switch ev := ev.(type) {
	case StepStarted:
		if ev.Purpose.IsAnswer() {
			a.author, a.isChecked = ev.Agent, ev.HasSchema
		}
	case CallStarted:
		if ev.Agent == a.author {
			a.call = ev.Call
			a.endText()
		}
	case TextDelta:
		if a.call != "" && ev.Call == a.call && !a.isChecked {
			return a.write(ev.Text)
		}
	case Ended:
		a.isOver = true
	default:
		if agent, why := Voided(ev); agent == a.author && a.said.Len() > 0 {
			return a.void(why)
		}
	}
	return ""
}

// Voided returns the agent whose unfinished text does not count after an event, and why. The agent is "" for other
// events.
func Voided(ev Event) (agent, why string) {
	switch ev := ev.(type) {
	case Retrying:
		return ev.Agent, "the call failed and is made again"
	case FellBack:
		return ev.Agent, "the call failed and goes to " + ev.To
	case CallEnded:
		if ev.Why != "" {
			return ev.Agent, "the call failed: " + ev.Why
		}
	case Failed:
		return ev.Agent, "the call failed"
	case Cancelled:
		return ev.Agent, "it was cancelled"
	case Dismissed:
		return ev.Agent, "the turn goes on without it"
	}
	return "", ""
}

func (a *AnswerText) write(text string) string {
	a.said.WriteString(text)
	return a.paragraph(text)
}

// paragraph returns a text, in a paragraph of its own if it does not go on with the last one.
func (a *AnswerText) paragraph(text string) string {
	if text == "" {
		return ""
	}
	a.isSent = true
	if a.isApart {
		a.isApart = false
		return "\n\n" + text
	}
	return text
}

func (a *AnswerText) endText() {
	a.isApart = a.isApart || a.said.Len() > 0
	a.said.Reset()
}

func (a *AnswerText) void(why string) string {
	a.endText()
	line := a.paragraph("(void: " + plain.Line(why) + ")")
	a.isApart = true
	return line
}

// Restart forgets what was returned: the answer goes on elsewhere.
func (a *AnswerText) Restart() {
	a.said.Reset()
	a.isSent, a.isApart = false, false
}

// Finish returns the missing part of the answer, which has no secrets either. If the open call's text is no beginning of the answer, the whole
// answer follows it.
func (a *AnswerText) Finish(answer string) string {
	said := strings.TrimSpace(a.said.String())
	if strings.TrimSpace(answer) == said {
		return ""
	}
	if rest, ok := strings.CutPrefix(answer, said); ok && said != "" {
		return a.paragraph(rest)
	}
	a.isApart = a.isSent
	return a.paragraph(answer)
}
