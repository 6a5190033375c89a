package agents

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/contextbuild"
	"github.com/massgen/massgen/internal/blob"
	"github.com/massgen/massgen/internal/machine"
)

// Input builds what a model call sends, from nothing but the references that the
// turn and the call name: the same journal and blobs give the same request,
// whenever it is built.
func Input(ctx context.Context, blobs Blobs, turn machine.Turn, call machine.ModelCall) (backends.Request, error) {
	return newInputBuilder(ctx, blobs, turn, call).build(call)
}

func (b *inputBuilder) build(call machine.ModelCall) (backends.Request, error) {
	var req backends.Request
	if call.Sidecall != nil {
		req = b.sidecallRequest(*call.Sidecall)
	} else {
		req = b.request(call)
	}
	if b.err != nil {
		return backends.Request{}, fmt.Errorf("build the input of %s: %w", call.Key, b.err)
	}
	return req, nil
}

// Transcript builds what a step has added to its first input until a call, as it
// is to be kept: without the word that a turn is the last one, which was said for
// that turn alone.
func Transcript(ctx context.Context, blobs Blobs, turn machine.Turn, call machine.ModelCall) ([]backends.Message, error) {
	b := newInputBuilder(ctx, blobs, turn, call)
	entries := slices.Clone(call.Transcript)
	for i := range entries {
		entries[i].Final = false
	}
	messages := b.transcript(entries)
	if b.err != nil {
		return nil, fmt.Errorf("build the transcript until %s: %w", call.Key, b.err)
	}
	return messages, nil
}

// inputBuilder builds what a call is sent.
type inputBuilder struct {
	textStore
	turn  machine.Turn
	names panelNames
	// history reads that of the turn, and shown is what of it the input has.
	history historyReader
	shown   []contextbuild.Exchange
	// reader is the agent that is called, and coordinates says that it is offered
	// the coordination tools.
	reader      int
	coordinates bool
	// built is what was built already, perhaps for other calls.
	built builtInputs
}

func newInputBuilder(ctx context.Context, blobs Blobs, turn machine.Turn, call machine.ModelCall) *inputBuilder {
	return &inputBuilder{
		textStore: textStore{ctx: ctx, blobs: blobs}, turn: turn, names: namesOf(turn), history: readHistory, built: newBuiltInputs(),
		reader: call.Key.Agent, coordinates: call.Key.Purpose == machine.Coordination,
	}
}

func (b *inputBuilder) request(call machine.ModelCall) backends.Request {
	self := b.turn.Agents[b.reader]
	req := backends.Request{
		Key: backends.Key{
			Session: b.turn.Session, Turn: b.turn.Turn, Agent: self.ID,
			Round: call.Key.Round, Purpose: string(call.Key.Purpose), Index: call.Key.Index,
		},
		Model:    self.Model,
		Messages: b.messages(call),
	}
	req.History = b.shownForPeople(call)
	req.ToolTimes = toolTimes(call.Transcript)
	b.decode(self.Params, &req.Params)
	switch {
	case call.JSON:
		req.Schema = b.names.actionSchema(call.Current())
	case b.coordinates:
		req.Tools = coordinationTools(len(b.turn.Agents), call.Offer.MayAnswer)
	}
	if call.OwnTools {
		var own []backends.Tool
		b.decode(b.turn.ToolsOf(call), &own)
		req.Tools = append(req.Tools, own...)
	}
	return req
}

// toolTimes are those of the tools that ran in a step.
func toolTimes(entries []machine.Entry) (times []backends.ToolTime) {
	for _, e := range entries {
		if e.Kind == machine.Result && e.Text != (blob.Ref{}) {
			times = append(times, backends.ToolTime{CallID: e.CallID, Name: e.Name, MS: e.Took})
		}
	}
	return times
}

func (b *inputBuilder) messages(call machine.ModelCall) []backends.Message {
	first := b.first(call)
	if b.err != nil {
		return nil
	}
	left := b.leftOut(call)
	return append(slices.Clip(b.noteLeftOut(first, left)), b.transcript(call.Transcript[left.Entries:])...)
}

// first are the messages that the step of a call begins with, which are built once for all of
// its calls. Those of a step in JSON mode change within the step.
func (b *inputBuilder) first(call machine.ModelCall) []backends.Message {
	key, from := call.Key, stepStart{b.turn, call.Offer, call.Votes, call.Notes}
	key.Index = 0
	if built, ok := b.built.steps[key]; ok && !call.JSON && reflect.DeepEqual(built.from, from) {
		return built.messages
	}
	messages := b.stepMessages(call)
	if b.err == nil && !call.JSON {
		b.built.steps[key] = builtStep{from, messages}
	}
	return messages
}

// stepMessages builds what a step begins with.
func (b *inputBuilder) stepMessages(call machine.ModelCall) []backends.Message {
	in := contextbuild.Input{
		SystemMessage: b.text(b.turn.Agents[b.reader].System),
		Question:      b.text(b.turn.Question),
		Participants:  b.names.ids,
	}
	b.shown = b.shownHistory()
	in.History = b.shown
	b.decode(b.turn.Conversation, &in.Conversation)
	b.decode(b.turn.Sections, &in.Sections)
	in.Notes = b.notes(call.Notes)
	for _, a := range call.Offer.Shown {
		in.Answers = append(in.Answers, contextbuild.Answer{Agent: b.names.ids[a.Agent], Content: b.text(a.Text)})
	}
	if call.JSON {
		offer := call.Current()
		in.Sections = append(in.Sections, contextbuild.JSONMode(offer.MayAnswer, len(offer.MayVote) > 0))
	}
	if b.err != nil {
		return nil
	}
	return b.firstMessages(in, call)
}

// leftOut is what the reader is not sent of its step.
func (b *inputBuilder) leftOut(call machine.ModelCall) machine.LeftOut {
	return call.LeftOut(b.turn.Agents[b.reader].Step)
}

// noteLeftOut says after the step's first messages what is left out between these and
// the others.
func (b *inputBuilder) noteLeftOut(first []backends.Message, left machine.LeftOut) []backends.Message {
	if left.Entries == 0 {
		return first
	}
	line := contextbuild.StepLeftOut(left.Messages, left.Results)
	return contextbuild.AddWord(first, b.withWord(line, machine.Entry{Update: left.Update, Notes: left.Notes, Final: left.Final}))
}

// shownForPeople says what the reader is not sent of the conversation and of its step.
func (b *inputBuilder) shownForPeople(call machine.ModelCall) string {
	var parts []string
	if shown := b.turn.Agents[b.reader].Shown; shown != nil && !shown.Everything() {
		parts = append(parts, shown.String())
	}
	if left := b.leftOut(call); left.Entries > 0 {
		parts = append(parts, "of the step "+contextbuild.CountLeftOut(left.Messages, left.Results)+" left out")
	}
	return strings.Join(parts, "; ")
}

// shownHistory is what the reader is shown of the turns before.
func (b *inputBuilder) shownHistory() []contextbuild.Exchange {
	if b.err != nil {
		return nil
	}
	shown := b.turn.Agents[b.reader].Shown
	last := allTurns
	if shown != nil {
		last = shown.Turns
	}
	history, err := b.history(b.ctx, b.blobs, b.turn, last)
	if err != nil {
		b.err = err
		return nil
	}
	if shown != nil {
		return contextbuild.Select(history, b.summary(), *shown)
	}
	return history
}

// summary is what stands for the older turns, zero if nothing does.
func (b *inputBuilder) summary() contextbuild.Exchange {
	s := b.turn.Summary
	if s == nil {
		return contextbuild.Exchange{}
	}
	if b.err != nil {
		return contextbuild.Exchange{}
	}
	exchange, err := readSummary(b.ctx, b.blobs, *s)
	b.err = err
	return exchange
}

func (b *inputBuilder) firstMessages(in contextbuild.Input, call machine.ModelCall) []backends.Message {
	var built contextbuild.Messages
	switch call.Key.Purpose {
	case machine.Conversation:
		return contextbuild.Solo(in)
	case machine.Presentation, machine.Synthesis:
		votes := make([]contextbuild.Vote, len(call.Votes))
		for i, v := range call.Votes {
			votes[i] = contextbuild.Vote{Voter: b.names.ids[v.Voter], For: b.names.ids[v.For], Reason: v.Reason}
		}
		winner := b.names.ids[b.reader]
		built = contextbuild.Present(in, winner, votes, call.Key.Purpose == machine.Synthesis)
	default:
		built = contextbuild.Build(in)
	}
	return []backends.Message{backends.System(built.System), backends.User(built.User)}
}

// transcript renders what the step has added since its first call. Results of
// one message stand together in one tool message.
func (b *inputBuilder) transcript(entries []machine.Entry) []backends.Message {
	var messages []backends.Message
	for _, e := range entries {
		switch e.Kind {
		case machine.Assistant:
			m := b.message(e.Text)
			if len(m.Parts) > 0 { // providers refuse an empty message
				messages = append(messages, m)
			}
		case machine.Result:
			if e.JSON {
				messages = append(messages, backends.User(b.result(e).Content))
				continue
			}
			if last := len(messages) - 1; last >= 0 && messages[last].Role == backends.RoleTool {
				messages[last].Parts = append(messages[last].Parts, b.result(e))
				continue
			}
			messages = append(messages, backends.Message{Role: backends.RoleTool, Parts: []backends.Part{b.result(e)}})
		case machine.Reminder:
			reminder := contextbuild.Reminder(e.MayAnswer, e.MayVote)
			if e.JSON {
				reminder = contextbuild.ReminderJSON()
			}
			messages = append(messages, backends.User(b.withWord(reminder, e)))
		}
	}
	return messages
}

// message reads what an assistant said.
func (b *inputBuilder) message(ref blob.Ref) (m backends.Message) {
	m, ok := b.built.messages[ref]
	if !ok {
		b.decode(ref, &m)
		b.built.messages[ref] = m
	}
	return m
}

func (b *inputBuilder) result(e machine.Entry) backends.ToolResult {
	r := backends.ToolResult{CallID: e.CallID, Name: e.Name, IsError: e.Error}
	if e.Notice != nil {
		r.Content, r.IsError = b.noticeText(*e.Notice), true
	} else {
		r.Content = b.text(e.Text)
	}
	r.Content = b.withWord(contextbuild.EscapeNotes(r.Content), e)
	return r
}

// withWord adds to an entry what the machine wants told at its end.
func (b *inputBuilder) withWord(text string, e machine.Entry) string {
	words := []string{text}
	if e.Update != nil {
		var answers []contextbuild.Answer
		for _, a := range e.Update.Shown {
			answers = append(answers, contextbuild.Answer{Agent: b.names.ids[a.Agent], Content: b.text(a.Text)})
		}
		words = append(words, contextbuild.Update(b.names.ids, answers))
	}
	if len(e.Notes) > 0 {
		words = append(words, contextbuild.Notes(b.notes(e.Notes)))
	}
	switch {
	case e.Final && b.coordinates:
		words = append(words, contextbuild.FinalTurn())
	case e.Final:
		words = append(words, contextbuild.FinalReply())
	}
	return strings.Join(words, "\n\n")
}

// notes reads what a person has added to the question.
func (b *inputBuilder) notes(refs []blob.Ref) []string {
	var texts []string
	for _, ref := range refs {
		texts = append(texts, b.text(ref))
	}
	return texts
}

func (b *inputBuilder) text(ref blob.Ref) string { return string(b.get(ref)) }

// panelNames translates between an agent's index, its config id, and the
// anonymous name by which models know it.
type panelNames struct {
	ids   []string
	names map[string]string
}

func namesOf(turn machine.Turn) panelNames {
	p := panelNames{}
	for _, a := range turn.Agents {
		p.ids = append(p.ids, a.ID)
	}
	p.names = contextbuild.Anonymous(p.ids)
	return p
}

func (p panelNames) anonymous(agent int) string {
	if agent < 0 || agent >= len(p.ids) {
		return "that agent"
	}
	return p.names[p.ids[agent]]
}

// index returns the agent that models know by name, in any case, or -1.
func (p panelNames) index(name string) int {
	for i, id := range p.ids {
		if strings.EqualFold(p.names[id], name) {
			return i
		}
	}
	return -1
}

func (p panelNames) list() string {
	names := make([]string, len(p.ids))
	for i := range p.ids {
		names[i] = anonymousName(i + 1)
	}
	return strings.Join(names, ", ")
}
