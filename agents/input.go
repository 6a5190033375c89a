package agents

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/contextbuild"
	"github.com/massgen/massgen/internal/coordination/effect"
	"github.com/massgen/massgen/internal/coordination/kernel"
	"github.com/massgen/massgen/internal/system/blob"
)

// build builds the request of a model call, only from the references that the turn and the call
// name: the same journal and blobs always give the same request.
func (b *inputBuilder) build(call effect.ModelCall) (backends.Request, error) {
	var req backends.Request
	switch {
	case call.Sidecall != nil:
		req = b.sidecallRequest(*call.Sidecall)
	case call.Key.Purpose.IsStepSummary():
		req = b.stepSummaryRequest(call)
	default:
		req = b.request(call)
	}
	if b.err != nil {
		return backends.Request{}, fmt.Errorf("build the input of %s: %w", call.Key, b.err)
	}
	return req, nil
}

// Transcript builds the messages that a step added to its first input up to a call, as they are
// stored: without the message about the last turn, which was for that turn alone.
func Transcript(ctx context.Context, blobs Blobs, turn *effect.Turn, call effect.ModelCall) ([]backends.Message, error) {
	b := newInputBuilder(ctx, newShared(turn, blobs), turn, call)
	entries := slices.DeleteFunc(slices.Clone(call.Transcript), func(e effect.Entry) bool { return e.Kind == effect.FinalTurn })
	for i := range entries {
		entries[i].Final = false
	}
	messages := b.transcript(entries)
	if b.err != nil {
		return nil, fmt.Errorf("build the transcript until %s: %w", call.Key, b.err)
	}
	return messages, nil
}

// inputBuilder builds the input of a call.
type inputBuilder struct {
	textStore
	turn   *effect.Turn
	shared *shared
	// shown is the part of the turn's history in the input.
	shown history
	// reader is the agent of the call. coordinates reports whether the call offers the coordination tools.
	reader      int
	round       int
	coordinates bool
	// isBlank puts one empty turn in place of the history, to measure the text around it.
	isBlank bool
	// opinion is the JSON Schema of the reply to a consultation.
	opinion json.RawMessage
	// offers identifies the request's tools, if calls of the turn share them.
	offers *toolsOffered
}

func newInputBuilder(ctx context.Context, s *shared, turn *effect.Turn, call effect.ModelCall) inputBuilder {
	return inputBuilder{
		textStore: textStore{ctx: ctx, cache: s.cache}, turn: turn, shared: s,
		reader: call.Key.Agent, round: call.Key.Round, coordinates: call.Key.Purpose == effect.Coordination,
	}
}

func (b *inputBuilder) request(call effect.ModelCall) backends.Request {
	self := b.turn.Agent(b.reader)
	req := backends.Request{Key: keyOf(b.turn, call), Model: self.Model, Messages: b.messages(call)}
	req.History = b.shownForPeople(call)
	req.ToolTimes = toolTimes(call.Transcript)
	req.Params = decoded[backends.Params](&b.textStore, self.Params)
	if isJudge(call) {
		req.Params.Hosted = backends.HostedTools{}
	}
	if call.Key.Purpose.IsConsultation() {
		req.Schema, req.Lenient = b.opinion, true
		return req
	}
	answers := schemaOf(&b.textStore, b.turn.Schema)
	if call.JSON {
		req.Schema, req.Lenient = b.shared.actionSchema(call.Current(), self.Bounded, answers), answers != nil
		if self.Bounded {
			req.Params = bounded(req.Params)
		}
	}
	offered := toolsOffered{coordinates: b.coordinates && !call.JSON}
	offered.mayAnswer = offered.coordinates && call.Offer.MayAnswer
	if call.OwnTools {
		offered.own, offered.forwarded, offered.notOwn = b.turn.ToolsOf(call), call.Key.Purpose.IsAnswer(), isJudge(call)
	}
	req.Tools, b.offers = b.shared.toolsOf(&b.textStore, offered, answers), &offered
	if answers != nil && call.Key.Purpose.IsAnswer() && len(req.Tools) == 0 && (!req.Params.Hosted.Any() || isRepair(call)) {
		req.Schema, req.Lenient = []byte(answers.String()), true // which goes with no tools
	}
	return req
}

// isRepair reports whether a call asks once more for an answer that fits the schema.
func isRepair(call effect.ModelCall) bool {
	return slices.ContainsFunc(call.Transcript, func(e effect.Entry) bool { return e.Kind == effect.Reminder && e.Notice != nil })
}

func keyOf(turn *effect.Turn, call effect.ModelCall) backends.Key {
	return backends.Key{
		Session: turn.Session, Turn: turn.Turn, Agent: turn.Agent(call.Key.Agent).ID,
		Round: call.Key.Round, Purpose: string(call.Key.Purpose), Index: call.Key.Index,
	}
}

// toolTimes returns the durations of the tools that ran in a step.
func toolTimes(entries []effect.Entry) (times []backends.ToolTime) {
	for _, e := range entries {
		if e.Kind == effect.Result && e.Text != (blob.Ref{}) {
			times = append(times, backends.ToolTime{CallID: e.CallID, Name: e.Name, MS: e.ElapsedMS})
		}
	}
	return times
}

func (b *inputBuilder) messages(call effect.ModelCall) []backends.Message {
	first := b.first(call)
	if b.err != nil {
		return nil
	}
	left := b.leftOut(call)
	messages := slices.Clip(b.markLeftOut(first, left, call.Summary))
	if len(call.Carried) > 0 {
		messages = append(messages, b.carried(call)...)
	}
	return append(messages, b.transcript(call.Transcript[left.Entries:])...)
}

// carried renders the agent's tool calls of earlier rounds and turns. They stand behind the step's first messages, as
// if the agent had made them in this step: a call is valid there for every provider.
func (b *inputBuilder) carried(call effect.ModelCall) []backends.Message {
	if call.JSON {
		return nil
	}
	messages := b.transcript(call.Carried)
	for i, m := range messages {
		if m.Role == backends.RoleAssistant {
			messages[i].Parts = slices.DeleteFunc(slices.Clone(m.Parts), func(p backends.Part) bool {
				c, isCall := p.(backends.ToolCall)
				return isCall && effect.Call{Name: c.Name}.IsAct()
			})
		}
	}
	return messages
}

// first builds the first messages of a call's step.
func (b *inputBuilder) first(call effect.ModelCall) []backends.Message {
	b.shown = b.history()
	in := contextbuild.Input{
		SystemMessage: b.text(b.turn.Agent(b.reader).System),
		Question:      b.text(b.turn.Question),
		Participants:  b.shared.ids,
		History:       b.shown.turns,
		Lines:         b.shown.lines,
		Conversation:  decoded[[]backends.Message](&b.textStore, b.turn.Conversation),
		Sections:      slices.Clip(decoded[[]string](&b.textStore, b.turn.Sections)),
	}
	if call.JSON {
		offer := call.Current()
		in.Sections = append(in.Sections, contextbuild.JSONMode(offer.MayAnswer, len(offer.MayVote) > 0))
	}
	if answers := schemaOf(&b.textStore, b.turn.Schema); answers != nil && !isJudge(call) {
		in.AddAnswerForm(answers.String(), b.coordinates)
	}
	if b.err != nil {
		return nil
	}
	return b.firstMessages(in, call)
}

// leftOut returns the part of the step that the input omits.
func (b *inputBuilder) leftOut(call effect.ModelCall) effect.LeftOut {
	limits := b.turn.Agent(b.reader).Step
	if limits == nil || len(call.Transcript) == 0 {
		return effect.LeftOut{}
	}
	return call.LeftOut(limits)
}

// markLeftOut adds to the step's first messages a line that says what is left out after them, with its summary.
func (b *inputBuilder) markLeftOut(first []backends.Message, left effect.LeftOut, summary *effect.StepSummary) []backends.Message {
	if left.Entries == 0 {
		return first
	}
	line := contextbuild.StepLeftOut(left.Messages, left.Results, b.stepSummary(summary))
	return contextbuild.AddWord(first, b.withWord(line, effect.Entry{Update: left.Update, Notes: left.Notes, Final: left.Final}))
}

// shownForPeople describes the part of the conversation and of the step that the input omits.
func (b *inputBuilder) shownForPeople(call effect.ModelCall) string {
	var parts []string
	if shown := b.turn.Agent(b.reader).Shown; shown != nil && !shown.Everything() {
		parts = append(parts, shown.String())
	}
	if left := b.leftOut(call); left.Entries > 0 {
		parts = append(parts, "of the step "+contextbuild.CountLeftOut(left.Messages, left.Results)+" left out")
	}
	return strings.Join(parts, "; ")
}

// history returns the earlier turns in the input.
func (b *inputBuilder) history() history {
	if !b.isBlank {
		return b.shared.historyOf(&b.textStore, b.turn, b.reader)
	}
	if b.turn.History == (blob.Ref{}) {
		return history{}
	}
	return b.shared.historyWith(make([]contextbuild.Exchange, 1))
}

func (b *inputBuilder) firstMessages(in contextbuild.Input, call effect.ModelCall) []backends.Message {
	var built contextbuild.Messages
	shown := b.inOrder(call)
	switch call.Key.Purpose {
	case effect.Conversation:
		in.Notes = b.notes(call.Notes)
		return b.withFiles(contextbuild.Solo(in))
	case effect.Judgement, effect.Analysis, effect.TieBreak, effect.Verdict, effect.Review:
		return b.withFiles(b.consultation(in, call))
	case effect.Presentation, effect.Synthesis:
		if isJudge(call) {
			return b.synthesis(in, call)
		}
		in.Notes, in.Answers = b.notes(call.Notes), b.answers(shown)
		votes := make([]contextbuild.Vote, len(call.Votes))
		for i, v := range call.Votes {
			votes[i] = contextbuild.Vote{Voter: b.shared.ids[v.Voter], For: b.shared.ids[v.For], Reason: v.Reason}
		}
		winner := b.shared.ids[b.reader]
		built = contextbuild.Present(in, winner, votes, call.Key.Purpose == effect.Synthesis)
	default:
		in.Guidance = b.text(b.turn.Agent(b.reader).Guidance)
		if former := call.Offer.Former; former.Review != (blob.Ref{}) {
			in.Sections = append(in.Sections, contextbuild.Restarted(decoded[contextbuild.Review](&b.textStore, former.Review), b.text(former.Text)))
		}
		built.System = in.System()
		of := view{
			question: b.turn.Question, history: historyKeyOf(b.turn, b.reader), answers: shown, notes: call.Notes,
		}
		built.User = b.shared.userOf(&b.textStore, of, func() string {
			in.Notes, in.Answers = b.notes(call.Notes), b.answers(shown)
			return in.User()
		})
	}
	return b.withFiles([]backends.Message{backends.System(built.System), backends.User(built.User)})
}

// transcript renders the messages that the step added since its first call. Results of one
// message stand together in one tool message.
func (b *inputBuilder) transcript(entries []effect.Entry) []backends.Message {
	var messages []backends.Message
	for _, e := range entries {
		switch e.Kind {
		case effect.Assistant:
			m := decoded[backends.Message](&b.textStore, e.Text)
			if len(m.Parts) > 0 { // providers refuse an empty message
				messages = append(messages, m)
			}
		case effect.Result:
			if e.JSON {
				r := b.result(e)
				messages = append(messages, withParts(backends.User(r.Content), r.Files))
				continue
			}
			if last := len(messages) - 1; last >= 0 && messages[last].Role == backends.RoleTool {
				messages[last].Parts = append(slices.Clip(messages[last].Parts), b.result(e)) // calls may share a stored message
				continue
			}
			messages = append(messages, backends.Message{Role: backends.RoleTool, Parts: []backends.Part{b.result(e)}})
		case effect.Reminder:
			reminder := contextbuild.Reminder(e.MayAnswer, e.MayVote, e.JSON)
			if e.Notice != nil {
				reminder = b.noticeText(*e.Notice)
			}
			messages = append(messages, backends.User(b.withWord(reminder, e)))
		case effect.FinalTurn:
			messages = append(messages, backends.User(contextbuild.FinalTurn(b.coordinates)))
		}
	}
	return messages
}

func (b *inputBuilder) result(e effect.Entry) backends.ToolResult {
	r := backends.ToolResult{CallID: e.CallID, Name: e.Name, IsError: e.Error}
	if e.Notice != nil {
		r.Content, r.IsError = b.noticeText(*e.Notice), true
	} else {
		r.Content = b.text(e.Text)
	}
	r.Content = b.withWord(contextbuild.EscapeNotes(r.Content), e)
	r.Files = asParts(e.Files)
	return r
}

// withWord adds to an entry the reminders and updates that the machine puts at its end.
func (b *inputBuilder) withWord(text string, e effect.Entry) string {
	words := []string{text}
	if e.Update != nil {
		words = append(words, contextbuild.Update(b.shared.ids, b.answers(b.turn.InOrder(b.reader, b.round, *e.Update))))
	}
	if len(e.Notes) > 0 {
		words = append(words, contextbuild.Notes(b.notes(e.Notes)))
	}
	if e.Final {
		words = append(words, contextbuild.FinalTurn(b.coordinates))
	}
	return strings.Join(words, "\n\n")
}

// answers reads the answers that an agent is shown.
func (b *inputBuilder) answers(shown []kernel.Answer) (list []contextbuild.Answer) {
	for _, a := range shown {
		answer := contextbuild.Answer{Agent: b.shared.ids[a.Agent], Content: b.text(a.Text)}
		if b.turn.Check != nil && b.turn.Check.Shown && a.Check != (blob.Ref{}) {
			c := decoded[Checked](&b.textStore, a.Check)
			answer.Check = &contextbuild.CheckOutcome{Exit: c.Exit, Output: c.Output}
		}
		list = append(list, answer)
	}
	return list
}

// inOrder returns the answers that a call shows, in their order.
func (b *inputBuilder) inOrder(call effect.ModelCall) []kernel.Answer {
	return b.turn.InOrder(b.reader, b.round, call.Offer)
}

// notes reads a person's notes.
func (b *inputBuilder) notes(refs []blob.Ref) []string {
	var texts []string
	for _, ref := range refs {
		texts = append(texts, b.text(ref))
	}
	return texts
}
