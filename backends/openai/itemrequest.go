package openai

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	goopenai "github.com/sashabaranov/go-openai"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/internal/models/wire"
)

// encodeResponses turns a request into the fields of a body for the Responses API. Nil fields
// are not sent.
func (e encoder) encodeResponses(req *backends.Request) (map[string]any, error) {
	fields := map[string]any{"model": e.model, "stream": true, "store": false}
	if err := e.dialect.Check(e.model, req.Params); err != nil {
		return nil, err
	}
	if !e.dialect.limits(e.model).NoEfforts { // models that never reason refuse it
		fields["include"] = []goopenai.ResponseInclude{goopenai.ResponseIncludeReasoningEncryptedContent}
	}
	var err error
	if fields["input"], err = e.encodeInput(req.Messages); err != nil {
		return nil, err
	}
	if len(req.Tools) > 0 {
		tools, err := encodeItemTools(req.Tools)
		if err != nil {
			return nil, err
		}
		fields["tools"] = tools
	}
	if err := e.addHosted(fields, req); err != nil {
		return nil, err
	}
	text := map[string]any{}
	if len(req.Schema) > 0 {
		if err := wire.CheckReplySchema(req.Schema); err != nil {
			return nil, err
		}
		text["format"] = map[string]any{"type": "json_schema", "name": "action", "strict": !req.Lenient || isStrict(req.Schema), "schema": req.Schema}
	}
	addResponsesParams(fields, text, req.Params)
	if fields["tools"] == nil { // nothing can be said of tools that are not there
		fields["tool_choice"], fields["parallel_tool_calls"] = nil, nil
	}
	return fields, nil
}

// addResponsesParams adds the settings. Those in the extra body join the objects text and
// reasoning, so that a verbosity and a schema, or a summary and an effort, go together.
func addResponsesParams(fields, text map[string]any, p backends.Params) {
	if p.Temperature != nil {
		fields["temperature"] = *p.Temperature
	}
	if p.TopP != nil {
		fields["top_p"] = *p.TopP
	}
	if p.MaxTokens != nil {
		fields["max_output_tokens"] = *p.MaxTokens
	}
	if len(p.Stop) > 0 {
		fields["stop"] = p.Stop // OpenAI's dialect refuses it; vLLM and llama.cpp take it
	}
	if p.Seed != nil {
		fields["seed"] = *p.Seed // likewise
	}
	reasoning := map[string]any{}
	if p.ReasoningEffort != "" {
		reasoning["effort"] = p.ReasoningEffort
	}
	if p.WantsSummary() {
		reasoning["summary"] = p.ReasoningSummary
	}
	if p.Verbosity != "" {
		text["verbosity"] = p.Verbosity
	}
	maps.Copy(fields, p.ExtraBody)
	for name, own := range map[string]map[string]any{"text": text, "reasoning": reasoning} {
		extra, isObject := p.ExtraBody[name].(map[string]any)
		if _, isSet := p.ExtraBody[name]; isSet && !isObject {
			continue
		}
		maps.Copy(own, extra)
		if len(own) > 0 {
			fields[name] = own
		}
	}
}

// itemTool is a tool. It always has Strict: the service's default is true, and then it refuses
// most schemas.
type itemTool struct {
	Type        goopenai.ToolType `json:"type"`
	Name        string            `json:"name"`
	Description string            `json:"description,omitempty"`
	Parameters  json.RawMessage   `json:"parameters"`
	Strict      bool              `json:"strict"`
}

func encodeItemTools(tools []backends.Tool) ([]itemTool, error) {
	var out []itemTool
	for _, t := range tools {
		schema, err := wire.ToolSchema(t)
		if err != nil {
			return nil, err
		}
		out = append(out, itemTool{Type: goopenai.ToolTypeFunction, Name: t.Name, Description: t.Description, Parameters: schema})
	}
	return out, nil
}

// The types of items that are read or written.
const (
	messageItem   = "message"
	callItem      = "function_call"
	resultItem    = "function_call_output"
	reasoningItem = "reasoning"
)

type itemCall struct {
	Type      string `json:"type"`
	CallID    string `json:"call_id"`
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

// encodeInput encodes the items of a conversation.
func (e encoder) encodeInput(messages []backends.Message) (wire.Encoded, error) {
	e.ids = &itemIDs{used: map[string]bool{}, sent: map[string]string{}}
	if e.dialect.ShortIDs {
		e.ids.most = mostItemID
	}
	return encodeEach(e, "input", backends.Repair(messages), e.encodeItems)
}

// itemIDs gives the tool calls of an input ids that differ. The service finds the call of a result
// by its id alone, whereas other services count the calls of each message from 0. The same
// conversation gives the same ids.
type itemIDs struct {
	used map[string]bool
	sent map[string]string // the newest, by the call's own id
	most int               // characters of an id, 0 if there is no limit
}

func (i *itemIDs) of(call string) string {
	id, base := i.short(call, call), call
	for n := 2; i.used[id]; n++ {
		if id = fmt.Sprintf("%s_%d", base, n); i.short(id, call) != id {
			base = wire.ShortID(call)
			id = fmt.Sprintf("%s_%d", base, n)
		}
	}
	i.used[id], i.sent[call] = true, id
	return id
}

// short returns id, or a shorter one for the call if id is too long.
func (i *itemIDs) short(id, call string) string {
	if i.most > 0 && len(id) > i.most {
		return wire.ShortID(call)
	}
	return id
}

func inputMessage(role backends.Role, content any) goopenai.ResponseInputMessage {
	return goopenai.ResponseInputMessage{Type: messageItem, Role: string(role), Content: content}
}

// encodeItems makes the items of one message, in the order of its parts. If nothing of the
// message can be sent, the list is empty.
func (e encoder) encodeItems(m backends.Message) ([]any, error) {
	if i := slices.IndexFunc(m.Parts, wire.IsImage); i >= 0 {
		if err := e.checkImage(m.Role, m.Parts[i]); err != nil {
			return nil, err
		}
	}
	switch m.Role {
	case backends.RoleTool:
		var out []any
		for _, p := range m.Parts {
			if r, ok := p.(backends.ToolResult); ok {
				output, err := e.itemOutput(r)
				if err != nil {
					return nil, err
				}
				out = append(out, goopenai.ResponseFunctionCallOutput{Type: resultItem, CallID: e.ids.sent[r.CallID], Output: output})
			}
		}
		return out, nil
	case backends.RoleAssistant:
		return e.encodeOutput(m), nil
	}
	if slices.ContainsFunc(m.Parts, wire.IsImage) {
		return []any{inputMessage(m.Role, encodeItemParts(m.Parts))}, nil
	}
	return []any{inputMessage(m.Role, m.Text())}, nil
}

// encodeOutput makes the items of an assistant message. Reasoning goes back as the items that
// the service sent. The service refuses a reasoning item without an item behind it, so the
// reasoning of an interrupted answer is left out.
func (e encoder) encodeOutput(m backends.Message) []any {
	var out, waiting []any
	for _, p := range m.Parts {
		switch p := p.(type) {
		case backends.Opaque:
			switch kept := e.keptItem(p); kept.Type {
			case "": // another model's, or what chat completions kept
			case messageItem:
				if said, ok := last(out).(goopenai.ResponseInputMessage); ok && len(waiting) == 0 {
					said.Phase = kept.Phase
					out[len(out)-1] = said
				}
			default:
				waiting = append(waiting, p.Data)
			}
			continue
		case backends.Text:
			if p.Text == "" {
				continue
			}
			waiting = append(waiting, inputMessage(m.Role, p.Text))
		case backends.ToolCall:
			waiting = append(waiting, itemCall{callItem, e.ids.of(p.ID), p.Name, p.Arguments})
		default:
			continue
		}
		out, waiting = append(out, waiting...), nil
	}
	return out
}

// last returns the last item, nil if the list is empty.
func last(items []any) any {
	if len(items) == 0 {
		return nil
	}
	return items[len(items)-1]
}

// keptItem reads an opaque part: either an item, which goes back as it came, or the phase of the
// text before it. A part of another model has no type.
func (e encoder) keptItem(p backends.Opaque) (kept messagePhase) {
	if p.Provider != e.provider || p.Model != e.model || e.withoutKept || json.Unmarshal(p.Data, &kept) != nil {
		return messagePhase{}
	}
	return kept
}

// messagePhase keeps the phase of a message, which the service wants back (OpenAI's reference,
// "phase"). The text is a part of its own.
type messagePhase struct {
	Type  string `json:"type"`
	Phase string `json:"phase,omitempty"`
}

func encodeItemParts(parts []backends.Part) []any {
	var out []any
	for _, p := range parts {
		switch p := p.(type) {
		case backends.Text:
			if p.Text != "" {
				out = append(out, goopenai.ResponseInputText{Type: "input_text", Text: p.Text})
			}
		case backends.File:
			out = append(out, itemFile(p))
		case backends.Image:
			out = append(out, goopenai.ResponseInputImage{Type: "input_image", ImageURL: imageURL(p), Detail: "auto"})
		}
	}
	return out
}
