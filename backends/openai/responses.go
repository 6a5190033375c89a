package openai

import (
	"context"
	"encoding/json"
	"maps"
	"slices"

	goopenai "github.com/sashabaranov/go-openai"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/internal/wire"
)

// responsesAPI is the Dialect.API of OpenAI's Responses API.
const responsesAPI = "responses"

// The Responses API ("Create a response" in OpenAI's reference) is spoken without a state
// at the service: it stores nothing, and gets the whole conversation in each request.

// encodeResponses turns a request into the fields of a body for the Responses API, of
// which nil ones are not sent.
func (e encoder) encodeResponses(req backends.Request) (map[string]any, error) {
	fields := map[string]any{"model": e.model, "stream": true, "store": false}
	if err := e.dialect.Check(e.model, req.Params); err != nil {
		return nil, err
	}
	if e.dialect.limits(e.model).Efforts != NoEfforts { // models that never reason refuse it
		fields["include"] = []string{"reasoning.encrypted_content"}
	}
	input := []any{} // null would be refused
	for _, m := range backends.Repair(req.Messages) {
		items, err := e.encodeItems(m)
		if err != nil {
			return nil, err
		}
		input = append(input, items...)
	}
	fields["input"] = input
	if len(req.Tools) > 0 {
		tools, err := e.last.tools.Encode(keyOf(req.Tools), func() (any, error) { return encodeItemTools(req.Tools) })
		if err != nil {
			return nil, err
		}
		fields["tools"] = wire.Encoded{tools}
	}
	text := map[string]any{}
	if len(req.Schema) > 0 {
		if err := wire.CheckReplySchema(req.Schema); err != nil {
			return nil, err
		}
		text["format"] = map[string]any{"type": "json_schema", "name": "action", "strict": true, "schema": req.Schema}
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
		fields["stop"] = p.Stop // OpenAI's dialect refuses it; other services take it
	}
	if p.Seed != nil {
		fields["seed"] = *p.Seed // likewise
	}
	reasoning := map[string]any{}
	if p.ReasoningEffort != "" {
		reasoning["effort"] = p.ReasoningEffort
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

// itemTool is a tool. Strict is sent, since it would be true by default, which refuses
// most schemas.
type itemTool struct {
	Type        string          `json:"type"`
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters"`
	Strict      bool            `json:"strict"`
}

func encodeItemTools(tools []backends.Tool) ([]itemTool, error) {
	var out []itemTool
	for _, t := range tools {
		schema, err := wire.ToolSchema(t)
		if err != nil {
			return nil, err
		}
		out = append(out, itemTool{Type: "function", Name: t.Name, Description: t.Description, Parameters: schema})
	}
	return out, nil
}

type itemMessage struct {
	Type    string        `json:"type"`
	Role    backends.Role `json:"role"`
	Content any           `json:"content"`
}

type itemCall struct {
	Type      string `json:"type"`
	CallID    string `json:"call_id"`
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

type itemResult struct {
	Type   string `json:"type"`
	CallID string `json:"call_id"`
	Output string `json:"output"`
}

type itemContent struct {
	Type     string `json:"type"`
	Text     string `json:"text,omitempty"`
	ImageURL string `json:"image_url,omitempty"`
	Detail   string `json:"detail,omitempty"`
}

// encodeItems makes the items of one message, in the order of its parts. A message of
// which nothing can be sent has none.
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
				out = append(out, itemResult{"function_call_output", r.CallID, r.Content})
			}
		}
		return out, nil
	case backends.RoleAssistant:
		return e.encodeOutput(m), nil
	}
	out := itemMessage{Type: "message", Role: m.Role, Content: m.Text()}
	if slices.ContainsFunc(m.Parts, wire.IsImage) {
		out.Content = encodeItemParts(m.Parts)
	}
	return []any{out}, nil
}

// encodeOutput makes the items of what the model said. Its reasoning goes back as the
// items that the service sent; the service refuses one that nothing follows, as in an
// answer that was cut.
func (e encoder) encodeOutput(m backends.Message) []any {
	var out, waiting []any
	for _, p := range m.Parts {
		switch p := p.(type) {
		case backends.Opaque:
			if item, ok := e.keptItem(p); ok {
				waiting = append(waiting, item)
			}
			continue
		case backends.Text:
			if p.Text == "" {
				continue
			}
			waiting = append(waiting, itemMessage{"message", m.Role, p.Text})
		case backends.ToolCall:
			waiting = append(waiting, itemCall{"function_call", p.ID, p.Name, p.Arguments})
		default:
			continue
		}
		out, waiting = append(out, waiting...), nil
	}
	return out
}

// keptItem returns the item that an opaque part is. One that chat completions kept is none.
func (e encoder) keptItem(p backends.Opaque) (json.RawMessage, bool) {
	var head struct {
		Type string `json:"type"`
	}
	ours := p.Provider == e.provider && p.Model == e.model
	return p.Data, ours && json.Unmarshal(p.Data, &head) == nil && head.Type != ""
}

func encodeItemParts(parts []backends.Part) []itemContent {
	var out []itemContent
	for _, p := range parts {
		switch p := p.(type) {
		case backends.Text:
			if p.Text != "" {
				out = append(out, itemContent{Type: "input_text", Text: p.Text})
			}
		case backends.Image:
			out = append(out, itemContent{Type: "input_image", ImageURL: imageURL(p), Detail: "auto"})
		}
	}
	return out
}

// runResponses makes the call over the Responses API. A service that cannot stream what it
// is asked is asked once more, for a whole answer.
func (b *Backend) runResponses(ctx context.Context, req backends.Request, emit wire.Emit) error {
	fields, err := encoder{b.service.Provider, req.Model, b.dialect, &b.last}.encodeResponses(req)
	if err != nil {
		return b.service.LocalError(err)
	}
	kind := callKind{req.Model, len(req.Tools) > 0}
	if _, refused := b.unstreamed.Load(kind); !refused {
		err := b.attemptResponse(ctx, req, fields, emit)
		if !wire.SaysNoStream(err) {
			return err
		}
		b.unstreamed.Store(kind, true)
	}
	fields["stream"] = false
	return b.attemptResponse(ctx, req, fields, emit)
}

func (b *Backend) attemptResponse(ctx context.Context, req backends.Request, fields map[string]any, emit wire.Emit) error {
	body, err := wire.Object(fields)
	if err != nil {
		return b.service.LocalError(err)
	}
	answer := &itemsAnswer{key: req.Key, from: origin{b.service.Provider, req.Model}, items: map[int]*openItem{}}
	return wire.Attempt[itemEvent]{
		Headers: req.Params.Headers,
		Body:    body,
		Open: func(ctx context.Context) error {
			stream, err := b.client.CreateResponseStream(ctx, goopenai.CreateResponseRequest{Model: req.Model})
			if err != nil {
				return err
			}
			return stream.Close() // of an empty body: the answer is kept from the library
		},
		Answer:   answer,
		IsAnswer: isWholeResponse,
		Abandon:  answer.abandon,
	}.Run(ctx, b.service, emit)
}

func isWholeResponse(body []byte) bool {
	var whole struct {
		Output []json.RawMessage `json:"output"`
	}
	return json.Unmarshal(body, &whole) == nil && whole.Output != nil
}

// failedResponse is the error of a response that failed.
func failedResponse(cause json.RawMessage) error {
	if len(cause) == 0 || string(cause) == "null" {
		cause = json.RawMessage(`"the service failed and does not say why"`)
	}
	return &wire.StreamError{Body: slices.Concat([]byte(`{"error":`), cause, []byte(`}`))}
}
