package agents

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/contextbuild"
	"github.com/massgen/massgen/internal/blob"
	"github.com/massgen/massgen/internal/machine"
	"github.com/massgen/massgen/sessions"
)

// sentPart is a piece of the history as models were told it, a text of the store: what it
// adds to the part before it. In the input of a panel it is text, in that of an agent
// alone messages. Each turn adds one part to those that the turns before have stored, so
// that what is stored does not grow with the session.
type sentPart struct {
	Previous blob.Ref           `json:"previous,omitzero"`
	Text     string             `json:"text,omitempty"`
	Messages []backends.Message `json:"messages,omitempty"`
}

// sentRecords notes what calls are sent. It keeps what it has noted last, which the calls of a
// turn share: the newest part of the history, the user's message and the tools. The zero value is ready.
type sentRecords struct {
	mu   sync.Mutex
	head blob.Ref // of the turn's history
	told sentHistory

	user  lastRecorded[string]
	tools lastRecorded[*backends.Tool]
}

// lastRecorded is what was noted last of a kind, and its reference. It is safe for concurrent use.
type lastRecorded[T comparable] struct {
	mu   sync.Mutex
	last T
	ref  blob.Ref
}

// note returns the reference of what encode stores, if it is not what was noted last. A turn
// that has put a text may name it again.
func (l *lastRecorded[T]) note(b *inputBuilder, of T, v any) blob.Ref {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ref != (blob.Ref{}) && l.last == of {
		return l.ref
	}
	ref := b.encode(v)
	if b.err == nil {
		l.last, l.ref = of, ref
	}
	return ref
}

// sentHistory is a whole history as it was told.
type sentHistory struct {
	newest blob.Ref
	text   string // of a panel's
	count  int    // of the messages of an agent alone
}

// note stores what a call is sent, and returns it by reference.
func (n *sentRecords) note(b *inputBuilder, req backends.Request) (*machine.Sent, error) {
	sent := &machine.Sent{Model: req.Model}
	sent.Digest, b.err = req.Digest()
	for _, m := range n.withoutHistory(b, req.Messages, sent) {
		sent.Messages = append(sent.Messages, n.message(b, m))
	}
	params := req.Params
	params.Headers, params.ExtraBody = nil, nil
	sent.Params = b.encode(params)
	if len(req.Tools) > 0 {
		sent.Tools = n.tools.note(b, &req.Tools[0], req.Tools)
	}
	if len(req.Schema) > 0 {
		sent.Schema = b.put(req.Schema)
	}
	if b.err != nil {
		return nil, fmt.Errorf("note the input of %s: %w", req.Key, b.err)
	}
	return sent, nil
}

// message stores a message. That of a user is the same for all agents of a round.
func (n *sentRecords) message(b *inputBuilder, m backends.Message) blob.Ref {
	if m.Role == backends.RoleUser && len(m.Parts) == 1 {
		if text, ok := m.Parts[0].(backends.Text); ok {
			return n.user.note(b, text.Text, m)
		}
	}
	return b.encode(m)
}

// withoutHistory returns the messages without the history, and notes where that stood.
// One that is not found in them as it was told stays in its message.
func (n *sentRecords) withoutHistory(b *inputBuilder, messages []backends.Message, sent *machine.Sent) []backends.Message {
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
		messages = slices.Delete(slices.Clone(messages), first, first+told.count)
	case told.text != "":
		whole := messages[first].Text()
		before, after, found := strings.Cut(whole, told.text)
		if !found {
			return messages
		}
		messages = slices.Clone(messages)
		messages[first] = backends.User(before + after)
		sent.Byte = len(before)
	}
	sent.History, sent.Message, sent.Older = told.newest, first, older
	return messages
}

// history stores the history of an input, as far as the store does not have it, and
// returns it with the parts but the newest that had to be stored.
func (n *sentRecords) history(b *inputBuilder) (told sentHistory, older []blob.Ref) {
	if b.turn.Agents[b.reader].Shown != nil { // it slides with each turn, and a window bounds it
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

// sentParts are what each turn of the history that an input has adds to it.
func sentParts(b *inputBuilder) []sentPart {
	parts := make([]sentPart, len(b.shown))
	for i := range parts {
		parts[i] = newSentPart(b, i)
	}
	return parts
}

// newSentPart is what a turn, by its place, adds to the history that an input has.
func newSentPart(b *inputBuilder, i int) (part sentPart) {
	switch {
	case len(b.turn.Agents) == 1:
		part.Messages = contextbuild.SoloMessages(b.shown[i])
	case i > 0:
		part.Text = "\n" + contextbuild.HistoryLines(b.shown[i])
	default:
		part.Text = contextbuild.HistoryLines(b.shown[i])
	}
	return part
}

func joined(parts []sentPart) (one sentPart) {
	for _, p := range parts {
		one.Text += p.Text
		one.Messages = append(one.Messages, p.Messages...)
	}
	one.Messages = contextbuild.MarkLeftOut(one.Messages)
	return one
}

// sendHistory stores the parts that the store lacks, of which it has all before one that
// it has.
func sendHistory(b *inputBuilder, parts []sentPart) (told sentHistory, older []blob.Ref) {
	encoded := make([][]byte, len(parts))
	refs := make([]blob.Ref, len(parts))
	var text strings.Builder
	for i, p := range parts {
		p.Previous = told.newest
		encoded[i] = b.marshal(p)
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

// Recorded returns what a call was sent, as it is in the journal and the texts that this
// names. Its key, headers and extra body are not there.
func Recorded(ctx context.Context, blobs Blobs, sent machine.Sent) (backends.Request, error) {
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

// putBack puts the history back to where it stood.
func (b *inputBuilder) putBack(sent machine.Sent, req *backends.Request) {
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
	req.Messages[at] = backends.User(whole[:i] + text.String() + whole[i:])
}
