package backendtest

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/massgen/massgen/backends"
)

// Messages is Claude's protocol, that of Anthropic's API reference, "Create a
// Message" and "Streaming messages".
func Messages() Protocol {
	return Protocol{
		Pattern:    "POST /v1/messages",
		Decode:     func(_ *http.Request, body []byte) backends.Request { return decodeMessages(body) },
		Stream:     messagesStream,
		Error:      messagesError,
		CheckOrder: func(body []byte) error { return cmp.Or(CheckMessagesOrder(body), checkServerTools(body)) },
		samples:    messagesSamples(),
	}
}

func messagesError(e ReplyError) string {
	kind := map[int]string{
		401: "authentication_error", 403: "permission_error", 404: "not_found_error", 429: "rate_limit_error",
		500: "api_error", 529: "overloaded_error",
	}[e.Status]
	if kind == "" {
		kind = "invalid_request_error"
	}
	message := e.Message
	if e.Code == "context_length_exceeded" {
		message += " prompt is too long: 210000 tokens > 200000 maximum"
	}
	return mustJSON(object{"type": "error", "error": object{"type": kind, "message": message}, "request_id": "req_1"})
}

// claudeWriter writes the events of one stream.
type claudeWriter struct {
	out   strings.Builder
	index int
}

func (w *claudeWriter) event(kind string, fields object) {
	fields["type"] = kind
	fmt.Fprintf(&w.out, "event: %s\ndata: %s\n\n", kind, mustJSON(fields))
}

func (w *claudeWriter) start(block object) {
	w.event("content_block_start", object{"index": w.index, "content_block": block})
}

func (w *claudeWriter) delta(kind, field, text string) {
	w.event("content_block_delta", object{"index": w.index, "delta": object{"type": kind, field: text}})
}

func (w *claudeWriter) stop() {
	w.event("content_block_stop", object{"index": w.index})
	w.index++
}

// thinking writes a thinking block, whose signature is the reply's or any.
func (w *claudeWriter) thinking(r Reply) {
	w.start(object{"type": "thinking", "thinking": "", "signature": ""})
	if r.Reasoning != "" {
		w.delta("thinking_delta", "thinking", r.Reasoning)
	}
	w.delta("signature_delta", "signature", cmp.Or(r.Signature, "c2lnbmVk"))
	w.stop()
}

func (w *claudeWriter) text(pieces ...string) {
	w.start(object{"type": "text", "text": ""})
	for _, p := range pieces {
		w.delta("text_delta", "text", p)
	}
}

func (w *claudeWriter) call(c backends.ToolCall, pieces ...string) {
	w.start(object{"type": "tool_use", "id": c.ID, "name": c.Name, "input": object{}})
	w.delta("input_json_delta", "partial_json", "")
	for _, p := range pieces {
		w.delta("input_json_delta", "partial_json", p)
	}
}

func messagesStream(c Call, r Reply) string {
	var w claudeWriter
	message := object{"id": fmt.Sprintf("msg_%d", c.Number), "type": "message", "role": "assistant", "content": []any{}}
	if r.Usage != nil {
		message["usage"] = inputUsage(r.Usage)
	}
	w.event("message_start", object{"message": message})
	w.event("ping", object{})
	if r.Fault != NoFault {
		w.half(r)
		return w.out.String()
	}
	if r.Reasoning != "" || r.Signature != "" {
		w.thinking(r)
	}
	w.hosted(r.Hosted)
	if r.Text != "" {
		w.text(halves(r.Text)...)
		w.cite(r.Hosted)
		w.stop()
	}
	for _, c := range r.ToolCalls {
		w.call(c, halves(c.Arguments)...)
		w.stop()
	}
	w.finish(r)
	return w.out.String()
}

func (w *claudeWriter) half(r Reply) {
	if r.Text != "" || len(r.ToolCalls) == 0 {
		w.text(halves(r.Text)[0])
	} else {
		w.call(r.ToolCalls[0], halves(r.ToolCalls[0].Arguments)[0])
	}
	if r.Fault == ErrorInStream {
		w.event("error", object{"error": object{"type": "api_error", "message": "The server had an error"}})
	}
}

func (w *claudeWriter) finish(r Reply) {
	reason := r.Finish
	if reason == "" {
		reason = "end_turn"
		if len(r.ToolCalls) > 0 {
			reason = "tool_use"
		}
	}
	delta := object{"delta": object{"stop_reason": reason, "stop_sequence": nil}}
	if r.Usage != nil {
		usage := object{"output_tokens": r.Usage.OutputTokens}
		if r.Usage.ReasoningTokens > 0 {
			usage["output_tokens_details"] = object{"thinking_tokens": r.Usage.ReasoningTokens}
		}
		if r.Hosted != nil && r.Hosted.Query != "" {
			usage["server_tool_use"] = object{"web_search_requests": 1}
		}
		delta["usage"] = usage
	}
	w.event("message_delta", delta)
	w.event("message_stop", object{})
}

func inputUsage(u *backends.Usage) object {
	return object{
		"input_tokens":                u.InputTokens - u.CachedInputTokens - u.CacheWriteTokens,
		"cache_creation_input_tokens": u.CacheWriteTokens,
		"cache_read_input_tokens":     u.CachedInputTokens,
		"output_tokens":               1,
	}
}

type claudeBlock struct {
	Type   string `json:"type"`
	Text   string `json:"text"`
	Source struct {
		MediaType string `json:"media_type"`
		Data      string `json:"data"`
		URL       string `json:"url"`
	} `json:"source"`
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Input     json.RawMessage `json:"input"`
	ToolUseID string          `json:"tool_use_id"`
	Content   claudeBlocks    `json:"content"`
	IsError   bool            `json:"is_error"`
}

// claudeBlocks are the blocks of a result. That of a server tool may have an object of its own.
type claudeBlocks []claudeBlock

func (b *claudeBlocks) UnmarshalJSON(data []byte) error {
	if len(data) > 0 && data[0] == '{' {
		return nil
	}
	return json.Unmarshal(data, (*[]claudeBlock)(b))
}

type claudeRequest struct {
	Model    string        `json:"model"`
	System   []claudeBlock `json:"system"`
	Messages []struct {
		Role    backends.Role `json:"role"`
		Content []claudeBlock `json:"content"`
	} `json:"messages"`
	Tools []struct {
		Type        string          `json:"type"`
		Name        string          `json:"name"`
		Description string          `json:"description"`
		InputSchema json.RawMessage `json:"input_schema"`
		MaxUses     int             `json:"max_uses"`
	} `json:"tools"`
	Stop         []string `json:"stop_sequences"`
	OutputConfig struct {
		Format struct {
			Schema json.RawMessage `json:"schema"`
		} `json:"format"`
	} `json:"output_config"`
	backends.Params
}

// decodeMessages reads a request body. What it cannot read is a request with one
// user message that says so.
func decodeMessages(body []byte) backends.Request {
	var in claudeRequest
	if err := json.Unmarshal(body, &in); err != nil {
		return backends.Request{Messages: []backends.Message{backends.User("unreadable request: " + err.Error())}}
	}
	req := backends.Request{Model: in.Model, Params: in.Params, Schema: in.OutputConfig.Format.Schema}
	req.Params.Stop = in.Stop
	for _, b := range in.System {
		req.Messages = append(req.Messages, backends.System(b.Text))
	}
	for _, m := range in.Messages {
		req.Messages = append(req.Messages, messagesOf(m.Role, m.Content)...)
	}
	for _, t := range in.Tools {
		hosted := &req.Params.Hosted
		switch t.Type {
		case "web_search_20250305":
			hosted.WebSearch, hosted.MaxUses = true, t.MaxUses
			continue
		case "web_fetch_20250910":
			hosted.WebFetch, hosted.MaxUses = true, t.MaxUses
			continue
		case "code_execution_20250825":
			hosted.CodeExecution = true
			continue
		}
		req.Tools = append(req.Tools, backends.Tool{Name: t.Name, Description: t.Description, Schema: t.InputSchema})
	}
	return req
}

// messagesOf parts the tool results of a user message from what follows them.
func messagesOf(role backends.Role, blocks []claudeBlock) []backends.Message {
	var results, rest []backends.Part
	for _, b := range blocks {
		switch b.Type {
		case "text":
			rest = append(rest, backends.Text{Text: b.Text})
		case "image", "document":
			data, err := base64.StdEncoding.DecodeString(b.Source.Data)
			if err != nil {
				return []backends.Message{backends.User("unreadable image: " + err.Error())}
			}
			image := backends.Image{MediaType: b.Source.MediaType, URL: b.Source.URL}
			if len(data) > 0 {
				image.Data = data
			}
			rest = append(rest, image)
		case "tool_use":
			rest = append(rest, backends.ToolCall{ID: b.ID, Name: b.Name, Arguments: string(b.Input)})
		case "tool_result":
			content := ""
			var files []backends.File
			for _, c := range b.Content {
				content += c.Text
				if data, err := base64.StdEncoding.DecodeString(c.Source.Data); err == nil && len(data) > 0 {
					files = append(files, receivedFile(c.Source.MediaType, data))
				}
			}
			results = append(results, backends.ToolResult{CallID: b.ToolUseID, Content: content, IsError: b.IsError, Files: files})
		case "server_tool_use", "web_search_tool_result", "bash_code_execution_tool_result":
			rest = append(rest, backends.HostedCall{ID: b.ID + b.ToolUseID, Name: b.Name})
		default:
			rest = append(rest, backends.Text{Text: "a block of type " + b.Type})
		}
	}
	var out []backends.Message
	if len(results) > 0 {
		out = append(out, backends.Message{Role: backends.RoleTool, Parts: results})
	}
	if len(rest) > 0 {
		out = append(out, backends.Message{Role: role, Parts: rest})
	}
	return out
}
