package agents

import (
	"slices"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/internal/coordination/effect"
	"github.com/massgen/massgen/internal/models/wire"
	"github.com/massgen/massgen/internal/tools/textcall"
)

// textCalls reports whether calls in the text of the reply count as its calls.
func (r *replyReader) textCalls() bool {
	purpose := r.call.Key.Purpose
	return r.call.Sidecall == nil && !purpose.IsStepSummary() && !purpose.IsConsultation() && r.turn.Agent(r.call.Key.Agent).TextCalls
}

// withCalls returns a message in which the calls of its text, and names with marks, are calls of tools on offer.
// hasMarkup reports whether the text has the markup of a call that does not count. A reply in JSON mode has its act in
// its text (see acts).
func (r *replyReader) withCalls(m backends.Message) (read backends.Message, hasMarkup bool) {
	if !r.textCalls() || r.call.JSON {
		return m, false
	}
	if len(m.ToolCalls()) > 0 || len(m.HostedCalls()) > 0 {
		return r.withPlainNames(m), false
	}
	text := m.Text()
	if r.schema != nil && r.call.Key.Purpose.IsAnswer() {
		if _, problem, err := r.schema.InText(r.ctx, text); err == nil && problem == "" {
			return m, false
		}
	}
	found := textcall.Read(text, r.textTools())
	if len(found.Calls) == 0 {
		return m, found.HasMarkup
	}
	parts := slices.DeleteFunc(slices.Clone(m.Parts), func(p backends.Part) bool {
		_, isText := p.(backends.Text)
		return isText
	})
	if found.Prose != "" {
		parts = append(parts, backends.Text{Text: found.Prose})
	}
	key := keyOf(r.turn, r.call)
	for i, c := range found.Calls {
		parts = append(parts, backends.ToolCall{ID: wire.CallID(key, i), Name: c.Name, Arguments: c.Arguments})
	}
	return backends.Message{Role: m.Role, Parts: parts}, false
}

// withPlainNames returns a message with the names of its calls without marks.
func (r *replyReader) withPlainNames(m backends.Message) backends.Message {
	tools := r.textTools()
	exists := func(name string) bool {
		return slices.ContainsFunc(tools, func(t textcall.Tool) bool { return t.Name == name && !t.Withheld })
	}
	parts := slices.Clone(m.Parts)
	for i, p := range parts {
		if call, isCall := p.(backends.ToolCall); isCall {
			if name, ok := textcall.Name(call.Name, exists); ok {
				call.Name = name
				parts[i] = call
			}
		}
	}
	return backends.Message{Role: m.Role, Parts: parts}
}

// textTools returns the tools that a text of the reply may call. The coordination tools, and tools that the call does
// not offer, are withheld.
func (r *replyReader) textTools() []textcall.Tool {
	var tools []textcall.Tool
	if len(r.turn.Agents) > 1 {
		tools = r.actTools(r.call.Key.Purpose == effect.Coordination, r.call.Offer.MayAnswer)
	}
	for _, t := range r.own {
		tools = append(tools, textcall.Tool{Name: t.Name, Schema: t.Schema, Withheld: !r.call.OwnTools})
	}
	return tools
}

// actTools returns the coordination tools.
func (r *replyReader) actTools(coordinates, mayAnswer bool) []textcall.Tool {
	var tools []textcall.Tool
	for _, t := range r.shared.toolsOf(&r.textStore, toolsOffered{coordinates: true, mayAnswer: true}, r.schema) {
		isWithheld := !coordinates || t.Name == effect.NewAnswer && !mayAnswer
		tools = append(tools, textcall.Tool{Name: t.Name, Schema: t.Schema, IsAct: true, Withheld: isWithheld})
	}
	return tools
}

// acts returns the act that a model in JSON mode wrote, as the tool call that it stands for. A text in another
// form than the schema's counts only where texts may contain calls.
func (r *replyReader) acts(text string) []backends.ToolCall {
	calls := actInText(text)
	if calls != nil || !r.textCalls() {
		return calls
	}
	for _, c := range textcall.Read(text, r.actTools(true, r.call.Current().MayAnswer)).Calls {
		calls = append(calls, backends.ToolCall{Name: c.Name, Arguments: c.Arguments})
	}
	return calls
}

// isMarkup reports whether an answer has the markup of a call, in place of what the call is about.
func (r *replyReader) isMarkup(answer string) bool {
	if !r.textCalls() || r.schema != nil {
		return false
	}
	found := textcall.Read(answer, r.textTools())
	return found.HasMarkup || len(found.Calls) > 0 && found.Prose == ""
}
