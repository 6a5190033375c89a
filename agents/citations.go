package agents

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/internal/coordination/effect"
	"github.com/massgen/massgen/internal/system/blob"
)

// readHosted notes the calls of hosted tools that a message has.
func (r *replyReader) readHosted(m backends.Message, reply *effect.ModelReply) {
	reply.Hosted = nil
	for _, c := range m.HostedCalls() {
		reply.Hosted = append(reply.Hosted, effect.Hosted{Name: c.Name, Error: c.Error})
	}
}

// readCitations finds the sources of the answer that a message may have: those that the message
// names, and those that the messages of the step before it name, since a model that answers by a
// tool has named them beside an earlier call.
func (r *replyReader) readCitations(m backends.Message, calls []backends.ToolCall, reply *effect.ModelReply) {
	reply.Citations = blob.Ref{}
	isAnswer := func(c backends.ToolCall) bool { return c.Name == effect.NewAnswer }
	if r.call.Sidecall != nil || len(calls) > 0 && !slices.ContainsFunc(calls, isAnswer) {
		return
	}
	for _, e := range r.call.Transcript {
		if e.Kind == effect.Assistant {
			r.cite(r.names.messageOf(&r.textStore, e.Text))
		}
	}
	r.cite(m)
	if len(r.citations) > 0 {
		reply.Citations = r.encode(r.citations)
	}
}

// cite adds the sources of a message.
func (r *replyReader) cite(m backends.Message) {
	for _, c := range m.Citations() {
		if !slices.ContainsFunc(r.citations, func(o backends.Citation) bool { return o.URL == c.URL }) {
			r.citations = append(r.citations, c)
		}
	}
}

// readJSON reads a text as JSON; a zero reference is the zero value.
func readJSON[T any](texts Lookup, ref blob.Ref) (v T, err error) {
	if ref == (blob.Ref{}) {
		return v, nil
	}
	data, err := texts(ref)
	if err != nil {
		return v, err
	}
	if err := json.Unmarshal(data, &v); err != nil {
		return v, fmt.Errorf("blob %.12s: %w", ref.SHA256, err)
	}
	return v, nil
}

// hostedCall returns a call of a hosted tool, which is in the message that it was part of.
func hostedCall(texts Lookup, e effect.ToolCall) (backends.HostedCall, error) {
	m, err := readJSON[backends.Message](texts, e.Message)
	if calls := m.HostedCalls(); err == nil && e.Call < len(calls) {
		return calls[e.Call], nil
	}
	return backends.HostedCall{Name: e.Name}, err
}
