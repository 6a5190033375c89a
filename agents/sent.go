package agents

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/contextbuild"
	"github.com/massgen/massgen/internal/coordination/effect"
	"github.com/massgen/massgen/internal/system/blob"
	"github.com/massgen/massgen/sessions"
)

// sentPart is a piece of the history as models read it, a text of the store that continues the part before it.
// A panel reads it as text, a panel of one as messages. Each turn adds one part to those that earlier turns
// stored, so that its storage does not grow with the session.
type sentPart struct {
	Previous blob.Ref           `json:"previous,omitzero"`
	Text     string             `json:"text,omitempty"`
	Messages []backends.Message `json:"messages,omitempty"`
}

// sentHistory is a history as models read it, with its newest part.
type sentHistory struct {
	newest blob.Ref
	text   string // in a panel's input
	count  int    // of messages in the input of a panel of one
}

// record stores the input of a call, and returns it by reference.
func (b *inputBuilder) record(req backends.Request) (*effect.Sent, error) {
	sent := &effect.Sent{Model: req.Model}
	sent.Digest, b.err = req.Digest()
	for _, m := range b.withoutHistory(req, sent) {
		sent.Messages = append(sent.Messages, b.shared.record(&b.textStore, m))
	}
	sent.Params = b.encodeParams(req.Params)
	if len(req.Tools) > 0 {
		sent.Tools = b.recordTools(req.Tools)
	}
	if len(req.Schema) > 0 {
		sent.Schema = b.put(req.Schema)
	}
	if b.err != nil {
		return nil, fmt.Errorf("note the input of %s: %w", req.Key, b.err)
	}
	return sent, nil
}

// recordTools stores the request's tools, once for all calls that share them.
func (b *inputBuilder) recordTools(tools []backends.Tool) (ref blob.Ref) {
	if b.offers == nil || b.err != nil {
		return b.encode(tools)
	}
	ref, b.err = remember(&b.shared.sentTools, *b.offers, 0, func() (blob.Ref, error) { return b.encode(tools), b.err })
	return ref
}

// withoutHistory returns the messages without the history, and records the history's place. If it does not
// find the history unchanged, it leaves it in its message.
func (b *inputBuilder) withoutHistory(req backends.Request, sent *effect.Sent) []backends.Message {
	messages := req.Messages
	if len(b.shown.turns) == 0 || b.err != nil {
		return messages
	}
	told, older := b.recordHistory()
	first := slices.IndexFunc(messages, func(m backends.Message) bool { return m.Role != backends.RoleSystem })
	if first < 0 {
		return messages
	}
	switch {
	case told.text == "" && first+told.count <= len(messages):
		messages = slices.Concat(messages[:first], messages[first+told.count:])
	case told.text != "":
		whole := messages[first].Text()
		before, after, found := strings.Cut(whole, told.text)
		if !found {
			return messages
		}
		messages = slices.Clone(messages)
		messages[first] = withText(messages[first], before+after)
		sent.Byte = len(before)
	}
	sent.History, sent.Message, sent.Older = told.newest, first, older
	return messages
}

// recordHistory stores the missing parts of an input's history, once for all calls that share it. It returns the
// history, and the older parts that it had to store.
func (b *inputBuilder) recordHistory() (told sentHistory, older []blob.Ref) {
	told, b.err = remember(&b.shared.sent, historyKeyOf(b.turn, b.reader), 0, func() (told sentHistory, err error) {
		if b.turn.Agent(b.reader).Shown != nil {
			return b.storeSelection(), b.err
		}
		told, older = b.storeHistory()
		return told, b.err
	})
	return told, older
}

// storeSelection stores a history as one part: a selection slides with each turn, and a window bounds it.
func (b *inputBuilder) storeSelection() (told sentHistory) {
	var one sentPart
	for i := range b.shown.turns {
		p := b.part(i, blob.Ref{})
		one.Text += p.Text
		one.Messages = append(one.Messages, p.Messages...)
	}
	one.Messages = contextbuild.MarkLeftOut(one.Messages)
	return sentHistory{newest: b.encode(one), text: one.Text, count: len(one.Messages)}
}

// storeHistory stores the parts of a whole history that the store lacks. The store has all parts before one that it
// has.
func (b *inputBuilder) storeHistory() (told sentHistory, older []blob.Ref) {
	told.text = strings.Join(b.shown.lines, "\n")
	before := make([]blob.Ref, len(b.shown.turns)) // the part before each turn's
	for i, e := range b.shown.turns {
		before[i] = told.newest
		told.newest = b.refOfPart(i, before[i])
		told.count += max(2, len(e.Messages)) // the question and the answer
	}
	newest := len(before) - 1
	told.newest = b.encode(b.part(newest, before[newest]))
	for i := newest; i > 0 && !b.has(before[i]); i-- {
		older = append(older, b.encode(b.part(i-1, before[i-1])))
	}
	return told, older
}

// part returns what a turn adds to the history after another part.
func (b *inputBuilder) part(turn int, previous blob.Ref) sentPart {
	switch {
	case len(b.turn.Agents) == 1:
		return sentPart{Previous: previous, Messages: contextbuild.SoloMessages(b.shown.turns[turn])}
	case turn == 0:
		return sentPart{Previous: previous, Text: b.shown.lines[turn]}
	}
	return sentPart{Previous: previous, Text: "\n" + b.shown.lines[turn]}
}

// partKey identifies the part of a turn without tools in a whole history.
type partKey struct {
	previous         blob.Ref
	isAlone          bool // in a panel of one
	question, answer string
}

// refOfPart returns the reference of the part of a turn. It computes it once for all turns that follow.
func (b *inputBuilder) refOfPart(turn int, previous blob.Ref) (ref blob.Ref) {
	encode := func() (blob.Ref, error) { return sessions.RefOf(b.marshal(b.part(turn, previous))), b.err }
	e := b.shown.turns[turn]
	switch {
	case b.err != nil:
	case len(e.Messages) > 0:
		ref, b.err = encode()
	default:
		key := partKey{previous, len(b.turn.Agents) == 1, e.Question, e.Answer}
		ref, b.err = remember(&b.cache.parts, key, len(e.Question)+len(e.Answer), encode)
	}
	return ref
}

// Recorded returns the input of a call from the journal and the texts that it names. It has no
// key, headers or extra body.
func Recorded(ctx context.Context, blobs Blobs, sent effect.Sent) (backends.Request, error) {
	t := newTextStore(ctx, blobs)
	req := backends.Request{
		Model: sent.Model, Params: decoded[backends.Params](&t, sent.Params), Tools: decoded[[]backends.Tool](&t, sent.Tools), Schema: t.get(sent.Schema),
	}
	for _, ref := range sent.Messages {
		req.Messages = append(req.Messages, decoded[backends.Message](&t, ref))
	}
	if sent.History != (blob.Ref{}) {
		t.putBack(sent, &req)
	}
	if t.err != nil {
		return backends.Request{}, fmt.Errorf("read a recorded input: %w", t.err)
	}
	return req, nil
}

// putBack restores the history to its place.
func (s *textStore) putBack(sent effect.Sent, req *backends.Request) {
	var parts []sentPart
	for ref := sent.History; ref != (blob.Ref{}) && s.err == nil; {
		p := decoded[sentPart](s, ref)
		parts = append(parts, p)
		ref = p.Previous
	}
	slices.Reverse(parts)
	at := sent.Message
	if s.err != nil || at < 0 || at > len(req.Messages) {
		return
	}
	var text strings.Builder
	var messages []backends.Message
	for _, p := range parts {
		text.WriteString(p.Text)
		messages = append(messages, p.Messages...)
	}
	if text.Len() == 0 {
		req.Messages = slices.Insert(req.Messages, at, messages...)
		return
	}
	if at == len(req.Messages) {
		return
	}
	whole := req.Messages[at].Text()
	i := min(max(sent.Byte, 0), len(whole))
	req.Messages[at] = withText(req.Messages[at], whole[:i]+text.String()+whole[i:])
}
