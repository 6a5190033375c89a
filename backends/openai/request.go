package openai

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"strings"

	goopenai "github.com/sashabaranov/go-openai"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/backends/wire"
)

// encode turns a request into go-openai's, and into the overlay: the fields of
// the body that its structs cannot say or would drop. A nil in the overlay
// removes a field.
func encode(req backends.Request, defaultModel, host string) (goopenai.ChatCompletionRequest, map[string]any, error) {
	out := goopenai.ChatCompletionRequest{
		Model:         req.Model,
		Stream:        true,
		StreamOptions: &goopenai.StreamOptions{IncludeUsage: true},
	}
	if out.Model == "" {
		out.Model = defaultModel
	}
	for _, m := range backends.Repair(req.Messages) {
		out.Messages = append(out.Messages, encodeMessage(m)...)
	}
	for _, t := range req.Tools {
		tool, err := encodeTool(t)
		if err != nil {
			return out, nil, err
		}
		out.Tools = append(out.Tools, tool)
	}
	return out, encodeParams(req.Params, out.Model, host), nil
}

func encodeTool(t backends.Tool) (goopenai.Tool, error) {
	schema := t.Schema
	if len(schema) == 0 {
		schema = json.RawMessage(`{"type":"object","properties":{}}`)
	}
	if !json.Valid(schema) {
		return goopenai.Tool{}, fmt.Errorf("the schema of tool %q is not JSON", t.Name)
	}
	return goopenai.Tool{
		Type: goopenai.ToolTypeFunction,
		Function: &goopenai.FunctionDefinition{
			Name:        t.Name,
			Description: t.Description,
			Parameters:  schema,
		},
	}, nil
}

// encodeParams leaves the numbers out of go-openai's request, which rounds them
// to 32 bits, drops zeros and refuses some by the name of the model.
func encodeParams(p backends.Params, model, host string) map[string]any {
	overlay := map[string]any{}
	if p.Temperature != nil {
		overlay["temperature"] = *p.Temperature
	}
	if p.TopP != nil {
		overlay["top_p"] = *p.TopP
	}
	if p.MaxTokens != nil {
		overlay[maxTokensField(model, host)] = *p.MaxTokens
	}
	if len(p.Stop) > 0 {
		overlay["stop"] = p.Stop
	}
	if p.Seed != nil {
		overlay["seed"] = *p.Seed
	}
	if p.ReasoningEffort != "" {
		overlay["reasoning_effort"] = p.ReasoningEffort
	}
	for name, value := range p.ExtraBody {
		overlay[name] = value
	}
	return overlay
}

// maxTokensField: OpenAI's reasoning models refuse max_tokens, and most other
// services know nothing else.
func maxTokensField(model, host string) string {
	if host == "api.openai.com" {
		return "max_completion_tokens"
	}
	for _, prefix := range []string{"o1", "o3", "o4", "gpt-5", "gpt-6"} {
		if strings.HasPrefix(model, prefix) {
			return "max_completion_tokens"
		}
	}
	return "max_tokens"
}

// encodeMessage makes the wire messages of one message: one for each result of a
// tool message, and none for an assistant message of which nothing can be sent,
// since some services refuse an empty one. Reasoning is not sent back, nor are
// opaque parts: this adapter makes none, so all are another provider's.
func encodeMessage(m backends.Message) []goopenai.ChatCompletionMessage {
	out := goopenai.ChatCompletionMessage{Role: string(m.Role)}
	switch m.Role {
	case backends.RoleTool:
		return encodeResults(m)
	case backends.RoleAssistant:
		out.Content = m.Text()
		for _, c := range m.ToolCalls() {
			out.ToolCalls = append(out.ToolCalls, goopenai.ToolCall{
				ID:       c.ID,
				Type:     goopenai.ToolTypeFunction,
				Function: goopenai.FunctionCall{Name: c.Name, Arguments: c.Arguments},
			})
		}
		if out.Content == "" && len(out.ToolCalls) == 0 {
			return nil
		}
	case backends.RoleUser:
		out.MultiContent = encodeImages(m)
		if out.MultiContent == nil {
			out.Content = m.Text()
		}
	default:
		out.Content = m.Text()
	}
	return []goopenai.ChatCompletionMessage{out}
}

func encodeResults(m backends.Message) []goopenai.ChatCompletionMessage {
	var out []goopenai.ChatCompletionMessage
	for _, p := range m.Parts {
		if r, ok := p.(backends.ToolResult); ok {
			out = append(out, goopenai.ChatCompletionMessage{
				Role: string(backends.RoleTool), ToolCallID: r.CallID, Content: r.Content,
			})
		}
	}
	return out
}

// encodeImages returns the content of a message that has images, else nil.
func encodeImages(m backends.Message) []goopenai.ChatMessagePart {
	var parts []goopenai.ChatMessagePart
	hasImage := false
	for _, p := range m.Parts {
		switch p := p.(type) {
		case backends.Text:
			if p.Text != "" {
				parts = append(parts, goopenai.ChatMessagePart{Type: goopenai.ChatMessagePartTypeText, Text: p.Text})
			}
		case backends.Image:
			hasImage = true
			parts = append(parts, goopenai.ChatMessagePart{
				Type:     goopenai.ChatMessagePartTypeImageURL,
				ImageURL: &goopenai.ChatMessageImageURL{URL: imageURL(p)},
			})
		}
	}
	if !hasImage {
		return nil
	}
	return parts
}

func imageURL(p backends.Image) string {
	if len(p.Data) == 0 {
		return p.URL
	}
	return "data:" + p.MediaType + ";base64," + base64.StdEncoding.EncodeToString(p.Data)
}

// mergeBody puts the overlay into a body made by go-openai, and gives each message
// that lacks it the content that was dropped for being empty.
func mergeBody(body []byte, overlay map[string]any) ([]byte, error) {
	var made struct {
		Messages json.RawMessage `json:"messages"`
		Tools    json.RawMessage `json:"tools"`
	}
	if err := json.Unmarshal(body, &made); err != nil {
		return nil, fmt.Errorf("decode the request body: %w", err)
	}
	messages, err := withContents(made.Messages)
	if err != nil {
		return nil, err
	}
	fields := map[string]any{"messages": messages}
	maps.Copy(fields, overlay)
	if tools, ok := overlay["tools"]; tools == nil && (ok || made.Tools == nil) {
		fields["tool_choice"], fields["parallel_tool_calls"] = nil, nil
	}
	return wire.Merge(body, fields)
}

// withContents adds "content": "" to the messages that have neither content nor
// tool calls. A list without any is an empty list.
func withContents(raw json.RawMessage) (json.RawMessage, error) {
	var messages []json.RawMessage
	if err := json.Unmarshal(raw, &messages); err != nil {
		return nil, fmt.Errorf("decode the messages: %w", err)
	}
	if len(messages) == 0 {
		return json.RawMessage("[]"), nil
	}
	for i, m := range messages {
		var has struct {
			Content   json.RawMessage `json:"content"`
			ToolCalls json.RawMessage `json:"tool_calls"`
		}
		if err := json.Unmarshal(m, &has); err != nil {
			return nil, fmt.Errorf("decode message %d: %w", i, err)
		}
		if has.Content == nil && has.ToolCalls == nil {
			messages[i] = append(json.RawMessage(`{"content":"",`), m[1:]...)
		}
	}
	return json.Marshal(messages)
}
