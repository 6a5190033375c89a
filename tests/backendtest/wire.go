package backendtest

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/massgen/massgen/backends"
)

// The servers write and read the wire formats on their own, so that a mistake of an
// adapter is not made twice.

// object is a JSON object on the wire.
type object = map[string]any

// The wire format is that of OpenAI's API reference, "Create chat completion"
// and "The chat completion chunk object".

type wireFunction struct {
	Name      string `json:"name,omitempty"`
	Arguments string `json:"arguments"`
}

type wireToolCall struct {
	Index    *int         `json:"index,omitempty"`
	ID       string       `json:"id,omitempty"`
	Type     string       `json:"type,omitempty"`
	Function wireFunction `json:"function"`
}

type wireMessage struct {
	Role      string         `json:"role,omitempty"`
	Content   *string        `json:"content,omitempty"`
	Reasoning string         `json:"reasoning_content,omitempty"`
	ToolCalls []wireToolCall `json:"tool_calls,omitempty"`
}

type wireChoice struct {
	Index        int          `json:"index"`
	Delta        *wireMessage `json:"delta,omitempty"`
	Message      *wireMessage `json:"message,omitempty"`
	FinishReason *string      `json:"finish_reason"`
}

type wireUsage struct {
	PromptTokens     int `json:"prompt_tokens"`
	CompletionTokens int `json:"completion_tokens"`
	TotalTokens      int `json:"total_tokens"`
	PromptDetails    struct {
		CachedTokens int `json:"cached_tokens"`
	} `json:"prompt_tokens_details"`
	CompletionDetails struct {
		ReasoningTokens int `json:"reasoning_tokens,omitempty"`
	} `json:"completion_tokens_details,omitzero"`
}

type wireChunk struct {
	ID      string       `json:"id"`
	Object  string       `json:"object"`
	Created int          `json:"created"`
	Model   string       `json:"model"`
	Choices []wireChoice `json:"choices"`
	Usage   *wireUsage   `json:"usage,omitempty"`
}

// ChatCompletions is OpenAI's protocol.
func ChatCompletions() Protocol {
	return Protocol{
		Pattern:  "POST /v1/chat/completions",
		BasePath: "/v1",
		Decode:   func(_ *http.Request, body []byte) backends.Request { return decodeChat(body) },
		Stream: func(c Call, r Reply) string {
			if r.Fault != NoFault {
				return brokenStream(c.Number, r)
			}
			return wholeStream(c.Number, asksForUsage(c.Body), r)
		},
		Error: func(e ReplyError) string {
			return mustJSON(object{"error": object{
				"message": e.Message, "type": "invalid_request_error", "param": nil, "code": e.Code,
			}})
		},
		CheckOrder: CheckChatOrder,
		whole:      wholeReply,
		samples:    chatSamples(),
	}
}

const endMark = "data: [DONE]\n\n"

// streamWriter writes the chunks of one stream.
type streamWriter struct {
	out    strings.Builder
	number int
}

func (w *streamWriter) chunk(choices []wireChoice, usage *wireUsage) {
	w.out.WriteString("data: ")
	w.out.WriteString(mustJSON(wireChunk{
		ID:      fmt.Sprintf("chatcmpl-%d", w.number),
		Object:  "chat.completion.chunk",
		Model:   "test-model",
		Choices: choices,
		Usage:   usage,
	}))
	w.out.WriteString("\n\n")
}

func (w *streamWriter) delta(m wireMessage) {
	w.chunk([]wireChoice{{Delta: &m}}, nil)
}

func (w *streamWriter) text(s string) {
	if s != "" {
		w.delta(wireMessage{Content: &s})
	}
}

func (w *streamWriter) toolCall(index int, call backends.ToolCall, pieces ...string) {
	w.delta(wireMessage{ToolCalls: []wireToolCall{
		{Index: &index, ID: call.ID, Type: "function", Function: wireFunction{Name: call.Name}},
	}})
	for _, piece := range pieces {
		w.delta(wireMessage{ToolCalls: []wireToolCall{
			{Index: &index, Function: wireFunction{Arguments: piece}},
		}})
	}
}

func (w *streamWriter) finish(reason string) {
	w.chunk([]wireChoice{{Delta: &wireMessage{}, FinishReason: &reason}}, nil)
}

// halves parts s between two characters, so that no stream comes in one piece.
func halves(s string) []string {
	middle := len(s) / 2
	for i := range s {
		if i >= middle {
			return []string{s[:i], s[i:]}
		}
	}
	return []string{s, ""}
}

func wholeStream(number int, withUsage bool, r Reply) string {
	w := streamWriter{number: number}
	w.delta(wireMessage{Role: "assistant"})
	if r.Reasoning != "" {
		w.delta(wireMessage{Reasoning: r.Reasoning})
	}
	for _, piece := range halves(r.Text) {
		w.text(piece)
	}
	for i, call := range r.ToolCalls {
		w.toolCall(i, call, halves(call.Arguments)...)
	}
	w.finish(finishReason(r))
	if withUsage && r.Usage != nil {
		w.chunk([]wireChoice{}, usageOnWire(r.Usage))
	}
	w.out.WriteString(endMark)
	return w.out.String()
}

func brokenStream(number int, r Reply) string {
	w := streamWriter{number: number}
	w.delta(wireMessage{Role: "assistant"})
	if r.Text != "" || len(r.ToolCalls) == 0 {
		w.text(halves(r.Text)[0])
	} else {
		w.toolCall(0, r.ToolCalls[0], halves(r.ToolCalls[0].Arguments)[0])
	}
	if r.Fault == ErrorInStream {
		w.out.WriteString(`data: {"error":{"message":"The server had an error","type":"server_error","param":null,"code":null}}` + "\n\n")
	}
	return w.out.String()
}

func wholeReply(call Call, r Reply) string {
	message := wireMessage{Role: "assistant", Content: &r.Text, Reasoning: r.Reasoning}
	for _, c := range r.ToolCalls {
		message.ToolCalls = append(message.ToolCalls, wireToolCall{
			ID: c.ID, Type: "function", Function: wireFunction{c.Name, c.Arguments},
		})
	}
	reason := finishReason(r)
	return mustJSON(wireChunk{
		ID:      fmt.Sprintf("chatcmpl-%d", call.Number),
		Object:  "chat.completion",
		Model:   "test-model",
		Choices: []wireChoice{{Message: &message, FinishReason: &reason}},
		Usage:   usageOnWire(r.Usage),
	})
}

func finishReason(r Reply) string {
	switch {
	case r.Finish != "":
		return r.Finish
	case len(r.ToolCalls) > 0:
		return "tool_calls"
	}
	return "stop"
}

func usageOnWire(u *backends.Usage) *wireUsage {
	if u == nil {
		return nil
	}
	out := &wireUsage{
		PromptTokens:     u.InputTokens,
		CompletionTokens: u.OutputTokens,
		TotalTokens:      u.InputTokens + u.OutputTokens,
	}
	out.PromptDetails.CachedTokens = u.CachedInputTokens
	out.CompletionDetails.ReasoningTokens = u.ReasoningTokens
	return out
}

// asksForStream and asksForUsage look at the bytes, since decoding a long body
// costs more than all the rest of a call. A text in the body cannot look like
// these: its quotes are escaped.
func asksForStream(body []byte) bool { return isTrue(body, `"stream"`) }

func asksForUsage(body []byte) bool { return isTrue(body, `"include_usage"`) }

func isTrue(body []byte, name string) bool {
	return bytes.Contains(body, []byte(name+":true")) || bytes.Contains(body, []byte(name+": true"))
}

// decodeChat reads a request body. What it cannot read is a request with one
// user message that says so, since a test is sure to look at the messages.
func decodeChat(body []byte) backends.Request {
	var in struct {
		Model               string           `json:"model"`
		Messages            []decodedMessage `json:"messages"`
		Tools               []decodedTool    `json:"tools"`
		MaxCompletionTokens *int             `json:"max_completion_tokens"`
		ResponseFormat      struct {
			JSONSchema struct {
				Schema json.RawMessage `json:"schema"`
			} `json:"json_schema"`
		} `json:"response_format"`
		backends.Params // whose names are the wire's
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return backends.Request{Messages: []backends.Message{backends.User("unreadable request: " + err.Error())}}
	}
	if in.MaxTokens == nil {
		in.MaxTokens = in.MaxCompletionTokens
	}
	req := backends.Request{Model: in.Model, Params: in.Params, Schema: in.ResponseFormat.JSONSchema.Schema}
	for _, m := range in.Messages {
		req.Messages = append(req.Messages, m.message())
	}
	for _, t := range in.Tools {
		req.Tools = append(req.Tools, backends.Tool{
			Name: t.Function.Name, Description: t.Function.Description, Schema: t.Function.Parameters,
		})
	}
	return req
}

type decodedTool struct {
	Function struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		Parameters  json.RawMessage `json:"parameters"`
	} `json:"function"`
}

type decodedMessage struct {
	Role       backends.Role   `json:"role"`
	Content    json.RawMessage `json:"content"`
	ToolCalls  []wireToolCall  `json:"tool_calls"`
	ToolCallID string          `json:"tool_call_id"`
}

func (m decodedMessage) message() backends.Message {
	out := backends.Message{Role: m.Role, Parts: contentParts(m.Content)}
	if m.Role == backends.RoleTool {
		out.Parts = []backends.Part{backends.ToolResult{CallID: m.ToolCallID, Content: out.Text()}}
	}
	for _, c := range m.ToolCalls {
		out.Parts = append(out.Parts, backends.ToolCall{ID: c.ID, Name: c.Function.Name, Arguments: c.Function.Arguments})
	}
	return out
}

func contentParts(raw json.RawMessage) []backends.Part {
	var text string
	if len(raw) == 0 || json.Unmarshal(raw, &text) == nil {
		if len(raw) == 0 || string(raw) == "null" {
			return nil
		}
		return []backends.Part{backends.Text{Text: text}}
	}
	var pieces []struct {
		Type     string `json:"type"`
		Text     string `json:"text"`
		ImageURL struct {
			URL string `json:"url"`
		} `json:"image_url"`
		File struct {
			Data string `json:"file_data"`
		} `json:"file"`
	}
	if err := json.Unmarshal(raw, &pieces); err != nil {
		return []backends.Part{backends.Text{Text: "unreadable content: " + err.Error()}}
	}
	var parts []backends.Part
	for _, p := range pieces {
		switch p.Type {
		case "image_url":
			parts = append(parts, imagePart(p.ImageURL.URL))
		case "file":
			parts = append(parts, imagePart(p.File.Data))
		default:
			parts = append(parts, backends.Text{Text: p.Text})
		}
	}
	return parts
}

func imagePart(url string) backends.Part {
	head, data, isData := strings.Cut(strings.TrimPrefix(url, "data:"), ";base64,")
	if !isData {
		return backends.Image{URL: url}
	}
	decoded, err := base64.StdEncoding.DecodeString(data)
	if err != nil {
		return backends.Text{Text: "unreadable image: " + err.Error()}
	}
	return backends.Image{MediaType: head, Data: decoded}
}
