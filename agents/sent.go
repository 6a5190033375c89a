package agents

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/contextbuild"
	"github.com/massgen/massgen/internal/coordination/effect"
	"github.com/massgen/massgen/internal/system/blob"
	"github.com/massgen/massgen/internal/system/fastjson"
	"github.com/massgen/massgen/sessions"
)

// sentPart is a piece of the history as models read it, a text of the store that continues the
// part before it. A panel reads it as text, a panel of one as messages. Each turn adds one part to those that earlier turns stored, so that its storage does not
// grow with the session.
type sentPart struct {
	Previous blob.Ref           `json:"previous,omitzero"`
	Text     string             `json:"text,omitempty"`
	Messages []backends.Message `json:"messages,omitempty"`
}

// sentRecords records the inputs of calls. It keeps its last records, which the calls of a turn
// share: the newest part of the history, the first messages, the parameters and the tools. The zero
// value is ready.
type sentRecords struct {
	mu   sync.Mutex
	head blob.Ref // of the turn's history
	told sentHistory

	system lastRecorded[string]
	user   lastRecorded[string]
	params lastRecorded[string]
	tools  lastRecorded[*backends.Tool]
}

// lastRecorded is the last record of a kind, with its reference. It is safe for concurrent use.
type lastRecorded[T comparable] struct {
	mu   sync.Mutex
	last T
	ref  blob.Ref
}

// note returns the reference of a record, and stores it unless it was stored last. A turn that has
// put a text may name it again.
func (l *lastRecorded[T]) note(b *inputBuilder, of T, store func() blob.Ref) blob.Ref {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ref != (blob.Ref{}) && l.last == of {
		return l.ref
	}
	ref := store()
	if b.err == nil {
		l.last, l.ref = of, ref
	}
	return ref
}

// sentHistory is a whole history as models read it.
type sentHistory struct {
	newest blob.Ref
	text   string // in a panel's input
	count  int    // of messages in the input of a panel of one
}

// note stores the input of a call, and returns it by reference.
func (n *sentRecords) note(b *inputBuilder, req backends.Request) (*effect.Sent, error) {
	sent := &effect.Sent{Model: req.Model}
	sent.Digest, b.err = req.Digest()
	messages := n.withoutHistory(b, req.Messages, sent)
	sent.Messages = slices.Grow(sent.Messages, len(messages))
	for _, m := range messages {
		sent.Messages = append(sent.Messages, n.message(b, m))
	}
	params := b.paramsJSON(req.Params)
	sent.Params = n.params.note(b, params, func() blob.Ref { return b.put([]byte(params)) })
	switch {
	case len(req.Tools) == 0:
	case b.tools != (blob.Ref{}):
		sent.Tools = b.tools
	default:
		sent.Tools = n.tools.note(b, &req.Tools[0], func() blob.Ref { return b.encode(req.Tools) })
	}
	if len(req.Schema) > 0 {
		sent.Schema = b.put(req.Schema)
	}
	if b.err != nil {
		return nil, fmt.Errorf("note the input of %s: %w", req.Key, b.err)
	}
	return sent, nil
}

// message stores a message. A user's message is the same for all agents of a round, and a system
// message for all calls of a step.
func (n *sentRecords) message(b *inputBuilder, m backends.Message) blob.Ref {
	store := func() blob.Ref { return b.encodeMessage(m) }
	if len(m.Parts) != 1 {
		return store()
	}
	text, ok := m.Parts[0].(backends.Text)
	switch {
	case ok && m.Role == backends.RoleUser:
		return n.user.note(b, text.Text, store)
	case ok && m.Role == backends.RoleSystem:
		return n.system.note(b, text.Text, store)
	}
	return store()
}

// withoutHistory returns the messages without the history, and records its place. A history
// that is not found there unchanged stays in its message.
func (n *sentRecords) withoutHistory(b *inputBuilder, messages []backends.Message, sent *effect.Sent) []backends.Message {
	if len(b.shown) == 0 {
		return messages
	}
	told, older := n.history(b)
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

// history stores the missing parts of an input's history. It returns the history, and the older
// parts that it had to store.
func (n *sentRecords) history(b *inputBuilder) (told sentHistory, older []blob.Ref) {
	if b.turn.Agents[b.reader].Shown != nil { // a selection slides with each turn, and a window bounds it
		told, _ = sendHistory(b, []sentPart{joined(sentParts(b))})
		return told, nil
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.head == b.turn.History {
		return n.told, nil
	}
	told, isNext := b.histories.sendNext(b)
	if !isNext {
		told, older = sendHistory(b, sentParts(b))
	}
	if b.err == nil {
		n.head, n.told = b.turn.History, told
		b.histories.recordSent(b.turn.History, told)
	}
	return told, older
}

// sentParts returns the additions of each turn to the history of an input.
func sentParts(b *inputBuilder) []sentPart { return sentPartsFrom(b, 0) }

// sentPartsFrom is sentParts for the turns from a place on.
func sentPartsFrom(b *inputBuilder, from int) (parts []sentPart) {
	if len(b.turn.Agents) == 1 {
		for _, e := range b.shown[from:] {
			parts = append(parts, sentPart{Messages: contextbuild.SoloMessages(e)})
		}
		return parts
	}
	for i, lines := range b.names.linesOf(b.shown)[from:] {
		if from+i > 0 {
			lines = "\n" + lines
		}
		parts = append(parts, sentPart{Text: lines})
	}
	return parts
}

func joined(parts []sentPart) (one sentPart) {
	for _, p := range parts {
		one.Text += p.Text
		one.Messages = append(one.Messages, p.Messages...)
	}
	one.Messages = contextbuild.MarkLeftOut(one.Messages)
	return one
}

// sendHistory stores the parts that the store lacks. The store has all parts before one that it
// has.
func sendHistory(b *inputBuilder, parts []sentPart) (told sentHistory, older []blob.Ref) {
	encoded := make([][]byte, len(parts))
	refs := make([]blob.Ref, len(parts))
	var text strings.Builder
	for i, p := range parts {
		p.Previous = told.newest
		encoded[i] = b.encodePart(p)
		refs[i] = sessions.RefOf(encoded[i])
		told.newest = refs[i]
		text.WriteString(p.Text)
		told.count += len(p.Messages)
	}
	told.text = text.String()
	newest := len(parts) - 1
	told.newest = b.put(encoded[newest])
	for i, data := range slices.Backward(encoded[:newest]) {
		if b.has(refs[i]) {
			break
		}
		older = append(older, b.put(data))
	}
	return told, older
}

// encodePart encodes a part as marshal does. There are as many as turns.
func (b *inputBuilder) encodePart(p sentPart) []byte {
	if p.Text == "" || len(p.Messages) > 0 {
		return b.marshal(p)
	}
	data := make([]byte, 0, len(p.Text)+128)
	data = append(data, '{')
	if p.Previous != (blob.Ref{}) {
		data = append(data, `"previous":{"sha256":"`...)
		data = append(data, p.Previous.SHA256...)
		data = append(data, `","bytes":`...)
		data = strconv.AppendInt(data, int64(p.Previous.Bytes), 10)
		data = append(data, `},`...)
	}
	return append(fastjson.AppendString(append(data, `"text":`...), p.Text), '}')
}

// Recorded returns the input of a call from the journal and the texts that it names. It has no
// key, headers or extra body.
func Recorded(ctx context.Context, blobs Blobs, sent effect.Sent) (backends.Request, error) {
	b := &inputBuilder{textStore: textStore{ctx: ctx, blobs: blobs}}
	req := backends.Request{Model: sent.Model}
	b.decode(sent.Params, &req.Params)
	b.decode(sent.Tools, &req.Tools)
	req.Schema = b.get(sent.Schema)
	for _, ref := range sent.Messages {
		var m backends.Message
		b.decode(ref, &m)
		req.Messages = append(req.Messages, m)
	}
	if sent.History != (blob.Ref{}) {
		b.putBack(sent, &req)
	}
	if b.err != nil {
		return backends.Request{}, fmt.Errorf("read a recorded input: %w", b.err)
	}
	return req, nil
}

// putBack restores the history to its place.
func (b *inputBuilder) putBack(sent effect.Sent, req *backends.Request) {
	var parts []sentPart
	for ref := sent.History; ref != (blob.Ref{}) && b.err == nil; {
		var p sentPart
		b.decode(ref, &p)
		parts = append(parts, p)
		ref = p.Previous
	}
	slices.Reverse(parts)
	at := sent.Message
	if b.err != nil || at < 0 || at > len(req.Messages) {
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
