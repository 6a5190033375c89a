package server

import (
	"fmt"
	"strings"

	"github.com/massgen/massgen"
	"github.com/massgen/massgen/agents"
	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/cmd/massgen/internal/findings"
	"github.com/massgen/massgen/coordinator/report"
	"github.com/massgen/massgen/internal/coordination/budget"
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
	// isAlone reports whether a single agent answers, so that its text is the answer.
	isAlone bool
	// hasLines reports whether the agents' texts come whole, for a client that shows a line for each.
	hasLines bool
	// redact hides secrets in a whole text. The events of streamed texts have none.
	redact func(text string) string
	answer report.AnswerText
	// agents share one channel, the reasoning.
	agents channel
	// isThinking reports whether the last reasoning was a model's, which may go on.
	isThinking bool
	// started counts the tool calls of the step that writes the answer.
	started int
	// used is the usage of all calls that ended.
	used budget.Usage
}

// apply returns the piece that an event shows.
func (d *deliberation) apply(ev massgen.Event) piece {
	content := d.answer.Apply(ev)
	if thought, ok := ev.(report.Thinking); ok && d.isAlone && thought.Call == d.answer.Call() {
		d.isThinking = true
		return piece{reasoning: thought.Text}
	}
	if agent, why := report.Voided(ev); agent != "" {
		d.agents.void(agent, why)
	}
	d.hear(ev)
	reasoning := d.agents.next()
	if d.isThinking && reasoning != "" {
		d.isThinking, reasoning = false, "\n\n"+reasoning
	}
	return piece{reasoning: reasoning, content: content}
}

// hear adds what an event shows to the agents' channel.
func (d *deliberation) hear(ev massgen.Event) {
	switch ev := ev.(type) {
	case report.StepStarted:
		if ev.Purpose.IsFinalAnswer() && !d.isAlone {
			d.agents.voidAll("the answer is decided") // nothing stands within the text of the answer
			d.line("%s presents the answer.", ev.Agent)
		}
	case report.CallStarted:
		d.agents.void(ev.Agent, "it was refused")
	case report.CallEnded:
		d.used = d.used.Plus(ev.Usage)
	case report.TextDelta:
		d.write(ev)
	case report.Answered, report.Voted, report.Abstained, report.Failed, report.Consulted:
		d.hearEnd(ev)
	case report.ToolStarted, report.ToolCalled, report.ToolEnded:
		d.hearTool(ev)
	case report.Noted:
		d.line("A note was added: %s", plain.Line(ev.Text))
	case report.Ended:
		d.agents.voidAll("the turn ended")
	}
}

// write adds a piece of an answer or of a vote's reason. The text of an agent that is alone is content.
func (d *deliberation) write(ev report.TextDelta) {
	switch {
	case d.isAlone || d.hasLines || d.answer.Author() != "":
	case ev.Act == effect.NewAnswer:
		d.agents.write(ev.Agent, ev.Agent+" writes:", ev.Text)
	case ev.Act == effect.Vote:
		d.agents.write(ev.Agent, ev.Agent+" votes:", ev.Text)
	}
}

// hearEnd adds the end of a step. It does not repeat a text that was streamed whole.
func (d *deliberation) hearEnd(ev massgen.Event) {
	switch ev := ev.(type) {
	case report.Answered:
		content, isVoid := d.redact(ev.Content), void(ev.Void)
		switch {
		case d.isAlone:
		case !d.agents.complete(ev.Agent, content):
			d.line("%s answered%s:\n\n%s", ev.Agent, isVoid, content)
		case ev.Void == "":
			d.agents.end(ev.Agent, ev.Agent+" answered.")
		default:
			d.agents.end(ev.Agent, strings.TrimSpace(isVoid))
		}
	case report.Voted:
		if d.agents.complete(ev.Agent, d.redact(ev.Reason)) {
			d.agents.end(ev.Agent, fmt.Sprintf("%s voted for %s%s.", ev.Agent, ev.Label, void(ev.Void)))
			return
		}
		d.line("%s voted for %s%s: %s", ev.Agent, ev.Label, void(ev.Void), plain.Line(ev.Reason))
	case report.Failed:
		d.line("%s failed: %s", ev.Agent, plain.Line(ev.Reason))
	case report.Consulted:
		d.line("%s", strings.Join(append([]string{plain.Line(ev.Words()) + "."}, findings.Writer{}.Lines(ev.Analysis)...), "\n"))
	case report.Abstained:
		d.agents.void(ev.Agent, "it was refused")
		d.line("%s abstained: %s", ev.Agent, plain.Line(ev.Reason))
	}
}

func (d *deliberation) hearTool(ev massgen.Event) {
	switch ev := ev.(type) {
	case report.ToolStarted:
		if ev.Agent == d.answer.Author() {
			d.started++
		}
	case report.ToolCalled:
		isAuthors := ev.Call != "" && ev.Call == d.answer.Call()
		if isAuthors && backends.IsHosted(ev.Tool) && !d.answer.IsWriting() {
			d.line("%s uses %s.", ev.Agent, ev.Tool)
		}
	case report.ToolEnded:
		// The calls of hosted tools end with their message: a line would stand within the answer.
		if ev.Agent != d.answer.Author() || !backends.IsHosted(ev.Tool.Name) {
			d.line("%s used %s.", ev.Agent, plain.Line(ev.Tool.Name))
		}
	}
}

// line adds a paragraph of reasoning.
func (d *deliberation) line(format string, args ...any) {
	d.agents.say(d.redact(fmt.Sprintf(format, args...)))
}

func void(why string) string {
	if why == "" {
		return ""
	}
	return " (void: " + plain.Line(why) + ")"
}

// finish returns the missing part of the answer.
func (d *deliberation) finish(answer string) piece {
	return piece{content: d.answer.Finish(d.redact(answer))}
}

// replyTo tells the view the results that came with its request. An earlier response ended with the calls of these
// results. It told the usage before them, also if its process was lost.
func (v *view) replyTo(at place, messages []message) {
	for _, m := range messages {
		if of, isOwn := turnOfCall(m.answers); isOwn && of == at {
			if v.answered == nil {
				v.at, v.answered, v.stepCalls = at, map[string]bool{}, map[string]int{}
			}
			v.answered[m.answers] = true
		}
	}
}

// tellBefore counts the usage before an answered call as told.
func (v *view) tellBefore(ev massgen.Event) {
	switch ev := ev.(type) {
	case report.StepStarted:
		v.stepCalls[ev.Agent] = 0
	case report.ToolStarted:
		id := callID(agents.CallInfo{Session: v.at.session, Turn: v.at.turn, Agent: ev.Agent, Round: ev.Round, Final: true, Call: v.stepCalls[ev.Agent]})
		v.stepCalls[ev.Agent]++
		if v.answered[id] {
			v.told = v.used
		}
	}
}
