package server

import (
	"fmt"
	"strings"

	"github.com/massgen/massgen"
	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/coordinator/report"
	"github.com/massgen/massgen/internal/coordination/effect"
	"github.com/massgen/massgen/internal/system/plain"
)

// piece is the next part of a response. Each field may be empty.
type piece struct {
	reasoning, content string
	// calls are the calls of the client's tools, which end the response.
	calls []toolCall
	// sources are the sources of the whole answer. They arrive when the answer ends.
	sources []backends.Citation
}

// deliberation turns the events of a turn into pieces: the agents' messages to each other become
// reasoning, the answer becomes content. It depends on the events alone.
type deliberation struct {
	// isAlone reports that a single agent answers, so that its text is the answer.
	isAlone bool
	// presenter is the agent whose text is the answer, "" for none.
	presenter string
	// isChecked reports that the text must pass a check first, so that the answer comes in one piece.
	isChecked bool
	// call is the sent text of the model call under way. sent reports that some text was sent.
	call strings.Builder
	sent bool
	// isThinking reports that the last reasoning was a model's, which may go on.
	isThinking bool
	// aside has the agents with a side call under way.
	aside map[string]bool
	// started counts the tool calls of the step that writes the answer.
	started int
}

// apply returns the piece that an event shows.
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
		if ev.Agent == d.presenter && backends.IsHosted(ev.Tool) && !d.aside[ev.Agent] && d.call.Len() == 0 {
			return d.line("%s uses %s.", ev.Agent, ev.Tool)
		}
	case report.ToolEnded:
		// The calls of hosted tools end with their message: a line would stand within the answer.
		if ev.Agent == d.presenter && backends.IsHosted(ev.Tool.Name) {
			return piece{}
		}
		return d.line("%s used %s.", ev.Agent, plain.Line(ev.Tool.Name))
	case report.Noted:
		return d.line("A note was added: %s", plain.Line(ev.Text))
	}
	return piece{}
}

// line returns a paragraph of reasoning.
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

// finish returns the missing part of the answer. If the sent text is no beginning of the answer, such as
// after a repeated call, the whole answer follows it.
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
