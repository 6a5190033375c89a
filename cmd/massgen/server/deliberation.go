package server

import (
	"fmt"
	"strings"

	"github.com/massgen/massgen"
	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/coordinator/report"
	"github.com/massgen/massgen/internal/coordination/effect"
	"github.com/massgen/massgen/internal/models/hosted"
	"github.com/massgen/massgen/internal/system/plain"
)

// piece is what a client is shown next. Each of its fields may be empty.
type piece struct {
	reasoning, content string
	// calls are those of the client's tools, and the last that it is shown.
	calls []toolCall
	// sources are the sources of the whole answer. They arrive when the answer ends.
	sources []backends.Citation
}

func (p piece) isEmpty() bool {
	return p.reasoning == "" && p.content == "" && len(p.calls) == 0 && len(p.sources) == 0
}

// deliberation turns the events of a turn into pieces: what the agents say to each other becomes
// reasoning, the answer becomes content. It follows from the events alone.
type deliberation struct {
	// isAlone says that a single agent answers: its text is the answer while it comes.
	isAlone bool
	// presenter is the agent whose text is the answer while it comes, "" for none.
	presenter string
	// isChecked says that the text is not the answer before it was checked: it comes whole.
	isChecked bool
	// call is the text that was sent of the model call under way, sent says that some was.
	call strings.Builder
	sent bool
	// isThinking says that the last reasoning was a piece of a model's, which may go on.
	isThinking bool
	// aside has the agents with a call under way that is not their own.
	aside map[string]bool
	// started counts the tool calls of the step that writes the answer.
	started int
}

func newDeliberation(agents int) *deliberation {
	return &deliberation{isAlone: agents == 1, aside: map[string]bool{}}
}

// restart forgets what was sent of the answer: it goes on in another response.
func (d *deliberation) restart() {
	d.call.Reset()
	d.sent = false
}

// apply returns what an event shows.
func (d *deliberation) apply(ev massgen.Event) piece {
	switch ev := ev.(type) {
	case report.StepStarted:
		isFinal := ev.Purpose == effect.Presentation || ev.Purpose == effect.Synthesis
		if isFinal || d.isAlone {
			d.presenter, d.isChecked = ev.Agent, ev.HasSchema
		}
		if isFinal && !d.isAlone {
			return d.line("%s presents the answer.", ev.Agent)
		}
	case report.CallStarted:
		if ev.Agent == d.presenter && d.call.Len() > 0 {
			d.call.Reset()
			return piece{content: "\n\n"}
		}
	case report.SidecallStarted:
		d.aside[ev.Agent] = true
	case report.SidecallEnded:
		delete(d.aside, ev.Agent)
	case report.SidecallFailed:
		delete(d.aside, ev.Agent)
	case report.TextDelta:
		if ev.Agent == d.presenter && d.presenter != "" && !d.aside[ev.Agent] && !d.isChecked {
			d.call.WriteString(ev.Text)
			d.sent = true
			return piece{content: ev.Text}
		}
	case report.Thinking:
		if d.isAlone && ev.Agent == d.presenter {
			d.isThinking = true
			return piece{reasoning: ev.Text}
		}
	case report.Answered:
		if !d.isAlone {
			return d.line("%s answered%s:\n\n%s", ev.Agent, void(ev.Void), ev.Content)
		}
	case report.Voted:
		return d.line("%s voted for %s%s: %s", ev.Agent, ev.Label, void(ev.Void), plain.Line(ev.Reason))
	case report.Failed:
		return d.line("%s failed: %s", ev.Agent, plain.Line(ev.Reason))
	case report.Abstained:
		return d.line("%s abstained: %s", ev.Agent, plain.Line(ev.Reason))
	case report.ToolStarted:
		if ev.Agent == d.presenter {
			d.started++
		}
	case report.ToolCalled:
		if ev.Agent == d.presenter && hosted.Is(ev.Tool) && !d.aside[ev.Agent] && d.call.Len() == 0 {
			return d.line("%s uses %s.", ev.Agent, ev.Tool)
		}
	case report.ToolEnded:
		// The calls of hosted tools end with their message: a line would stand within the answer.
		if ev.Agent == d.presenter && hosted.Is(ev.Tool.Name) {
			return piece{}
		}
		return d.line("%s used %s.", ev.Agent, plain.Line(ev.Tool.Name))
	case report.Noted:
		return d.line("A note was added: %s", plain.Line(ev.Text))
	}
	return piece{}
}

// line is a paragraph of reasoning.
func (d *deliberation) line(format string, args ...any) piece {
	before := ""
	if d.isThinking {
		before, d.isThinking = "\n\n", false
	}
	return piece{reasoning: before + fmt.Sprintf(format, args...) + "\n\n"}
}

func void(why string) string {
	if why == "" {
		return ""
	}
	return " (void: " + plain.Line(why) + ")"
}

// finish returns what is missing of the answer. An answer that goes on as nothing before did, as
// after a call that was made again, comes whole behind what was sent.
func (d *deliberation) finish(answer string) piece {
	call := strings.TrimSpace(d.call.String())
	rest, goesOn := strings.CutPrefix(answer, call)
	switch {
	case d.call.Len() > 0 && strings.TrimSpace(answer) == call:
		return piece{}
	case goesOn && d.call.Len() > 0 || !d.sent:
		return piece{content: rest}
	}
	return piece{content: "\n\n" + answer}
}
