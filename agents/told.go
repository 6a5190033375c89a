package agents

import (
	"context"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/contextbuild"
	"github.com/massgen/massgen/internal/coordination/effect"
	"github.com/massgen/massgen/internal/tools/textcall"
)

// Told is what people see of a model call while it runs. Text or one of the other fields is set.
type Told struct {
	// Text is the next piece of a text. Act is the act that it belongs to: effect.NewAnswer for an answer, effect.Vote
	// for the reason of a vote, and empty for text beside tools.
	Text, Act string
	// Thinking is the next piece of the model's reasoning.
	Thinking string
	// Tool is the name of a tool that the model calls.
	Tool string
}

// teller tells people what a model writes. The pieces of an act concatenate to the act as it is accepted: the teller
// cleans them (contextbuild.Clean), holds back white space at the end of a piece, at which the sources of an answer may
// follow, and tells the rest when the reply was read. What it reads too early, such as the content of a call that is
// refused later, is void (see report.TextDelta). It holds back text that may be a call, until the whole message shows
// whether it is one.
type teller struct {
	tell    func(Told)
	purpose effect.Purpose
	isJSON  bool // the model acts by JSON
	// mayCall reports whether calls in the text count, of the tools that exists knows.
	mayCall bool
	exists  func(name string) bool
	schema  bool // the answer is a value that fits a schema

	// text is text that is held back. If isHeld is true, the whole message decides about it, and rest is the text
	// behind it. hasText reports whether a text was told, and hasCall whether the backend sent a whole call.
	text                     string
	rest                     strings.Builder
	isHeld, hasText, hasCall bool

	acts *actReader
	// index is the number of the call whose arguments acts reads, or noIndex.
	index int
	actText
}

// actText is the text of an act so far.
type actText struct {
	act string
	// told is the text that was told, held is the text that may follow it, and cut is a begun character behind held.
	told, held strings.Builder
	cut        string
}

// noIndex is the index of a call that came whole.
const noIndex = -1

func newTeller(tell func(Told), turn *effect.Turn, call effect.ModelCall, tools []backends.Tool) *teller {
	t := &teller{tell: tell, purpose: call.Key.Purpose, isJSON: call.JSON, mayCall: turn.Agent(call.Key.Agent).TextCalls, schema: turn.Schema.Bytes > 0}
	t.exists = func(name string) bool {
		return fieldOf(name) != "" || slices.ContainsFunc(tools, func(tool backends.Tool) bool { return tool.Name == name })
	}
	t.again()
	return t
}

// again begins anew, for another attempt.
func (t *teller) again() {
	t.text, t.isHeld, t.hasText, t.hasCall = "", false, false, false
	t.acts, t.index, t.actText = nil, noIndex, actText{}
	t.rest.Reset()
	if t.isJSON {
		t.acts = t.reader("")
	}
}

func (t *teller) reader(act string) *actReader {
	return &actReader{act: act, hasSchema: t.schema, say: t.say}
}

// hear takes the next event of the call.
func (t *teller) hear(ev backends.Event) {
	switch ev := ev.(type) {
	case backends.TextDelta:
		if t.purpose.IsConsultation() { // people get the opinion, not its JSON
			t.tell(Told{Thinking: ev.Text})
			return
		}
		t.hearText(ev.Text)
	case backends.ReasoningDelta:
		t.tell(Told{Thinking: ev.Text})
	case backends.HostedCall:
		if ev.Open {
			t.tell(Told{Tool: ev.Name})
		}
	case backends.ToolCallDelta:
		t.hearCall(ev.Index, ev.Name, ev.Text)
	case backends.ToolCall:
		t.hasCall = true
		t.hearCall(noIndex, ev.Name, ev.Arguments)
		t.tell(Told{Tool: ev.Name})
	}
}

// hearCall reads the arguments of the message's first act.
func (t *teller) hearCall(index int, name, arguments string) {
	if t.acts == nil && t.purpose == effect.Coordination && fieldOf(name) != "" {
		t.acts, t.index = t.reader(name), index
		t.acts.add(arguments)
	} else if index != noIndex && index == t.index {
		t.acts.add(arguments)
	}
}

// hearText tells the part of a text that is surely prose. In JSON mode the text is prose up to an object or a fence.
func (t *teller) hearText(piece string) {
	if t.isJSON {
		t.acts.add(piece)
	}
	if t.isHeld {
		if !t.isJSON {
			t.rest.WriteString(piece)
		}
		return
	}
	t.text += piece
	length := len(t.text)
	if t.isJSON || t.mayCall {
		length, t.isHeld = textcall.Prose(t.text, !t.hasText, t.exists)
	}
	if begin := strings.IndexAny(t.text, "{`"); t.isJSON && begin >= 0 {
		length, t.isHeld = min(length, begin), true
	}
	t.tellText(length)
}

// tellText tells the first bytes of the held text.
func (t *teller) tellText(length int) {
	if length > 0 {
		t.tell(Told{Text: contextbuild.Clean(t.text[:length])}) // as the answer is accepted
		t.text, t.hasText = t.text[length:], true
	}
}

// say tells the next piece of an act, without white space at its end.
func (t *teller) say(act, piece string) {
	t.act = act
	piece, t.cut = cutCharacter(t.cut + piece)
	whole := len(strings.TrimRightFunc(piece, unicode.IsSpace))
	if t.told.Len() == 0 && !strings.ContainsFunc(piece, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) }) {
		whole = 0 // the text so far may be a placeholder
	}
	if whole == 0 {
		t.held.WriteString(piece)
		return
	}
	text := t.held.String() + piece[:whole]
	t.held.Reset()
	t.held.WriteString(piece[whole:])
	if act == effect.Vote {
		text = t.ofReason(text)
	}
	t.tellAct(contextbuild.Clean(text))
}

// cutCharacter cuts off a character that has only begun at the end of a text.
func cutCharacter(text string) (whole, begun string) {
	for back := 1; back < utf8.UTFMax && back <= len(text); back++ {
		if at := len(text) - back; utf8.RuneStart(text[at]) {
			if !utf8.FullRuneInString(text[at:]) {
				return text[:at], text[at:]
			}
			break
		}
	}
	return text, ""
}

// ofReason returns the part of the next piece of a reason that is kept.
func (t *teller) ofReason(text string) string {
	if t.told.Len() == 0 {
		text = strings.TrimLeftFunc(text, unicode.IsSpace)
	}
	left := max(maxReason-utf8.RuneCountInString(t.told.String()), 0)
	if runes := []rune(text); len(runes) > left {
		return string(runes[:left])
	}
	return text
}

func (t *teller) tellAct(text string) {
	if text != "" {
		t.told.WriteString(text)
		t.tell(Told{Act: t.act, Text: text})
	}
}

// end tells what was held back, now that the reply was read. accepted returns the text of an answer.
func (t *teller) end(reply effect.ModelReply, accepted func(effect.Call) string) {
	if !t.isJSON && !reply.Markup && (t.hasCall || len(reply.Calls) == 0) {
		t.text += t.rest.String()
		t.tellText(len(t.text))
	}
	acts := slices.DeleteFunc(slices.Clone(reply.Calls), func(c effect.Call) bool { return fieldOf(c.Name) == "" })
	if t.purpose != effect.Coordination || len(acts) != 1 || acts[0].Problem != "" {
		return
	}
	text := acts[0].Reason
	if acts[0].Name == effect.NewAnswer {
		text = accepted(acts[0])
	}
	if t.act == "" || t.act == acts[0].Name {
		t.act = acts[0].Name
		if rest, ok := strings.CutPrefix(text, t.told.String()); ok {
			t.tellAct(rest)
		}
	}
}

// tellerOf returns the teller of an agent's call, nil if nobody observes it.
func (d *Doer) tellerOf(turn *effect.Turn, call effect.ModelCall, tools []backends.Tool) *teller {
	if d.Observe == nil || call.Key.Agent == effect.NoAgent || call.Key.Purpose.IsStepSummary() {
		return nil
	}
	key := call.Key
	return newTeller(func(told Told) { d.Observe(key, told) }, turn, call, tools)
}

// endTelling tells the rest of a call whose reply was read.
func (d *Doer) endTelling(ctx context.Context, t *teller, reply effect.ModelReply) {
	if t == nil {
		return
	}
	t.end(reply, func(c effect.Call) string {
		s := newTextStore(ctx, d.Blobs)
		return s.text(c.Answer) // if the text cannot be read, people keep the part that streamed
	})
}
