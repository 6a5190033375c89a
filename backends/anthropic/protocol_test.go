package anthropic_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/backends/backendtest"
)

// messagesAPI is the protocol of the API reference, "Create a Message" and
// "Streaming messages".
func messagesAPI() backendtest.Protocol {
	return backendtest.Protocol{
		Pattern:    "POST /v1/messages",
		Decode:     func(_ *http.Request, body []byte) backends.Request { return decodeRequest(body) },
		Stream:     writeStream,
		Error:      writeError,
		CheckOrder: backendtest.CheckMessagesOrder,
	}
}

func writeError(e backendtest.ReplyError) string {
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

type object = map[string]any

// streamWriter writes the events of one stream.
type streamWriter struct {
	out   strings.Builder
	index int
}

func (w *streamWriter) event(kind string, fields object) {
	fields["type"] = kind
	fmt.Fprintf(&w.out, "event: %s\ndata: %s\n\n", kind, mustJSON(fields))
}

func (w *streamWriter) start(block object) {
	w.event("content_block_start", object{"index": w.index, "content_block": block})
}

func (w *streamWriter) delta(kind, field, text string) {
	w.event("content_block_delta", object{"index": w.index, "delta": object{"type": kind, field: text}})
}

func (w *streamWriter) stop() {
	w.event("content_block_stop", object{"index": w.index})
	w.index++
}

func (w *streamWriter) text(pieces ...string) {
	w.start(object{"type": "text", "text": ""})
	for _, p := range pieces {
		w.delta("text_delta", "text", p)
	}
}

func (w *streamWriter) call(c backends.ToolCall, pieces ...string) {
	w.start(object{"type": "tool_use", "id": c.ID, "name": c.Name, "input": object{}})
	w.delta("input_json_delta", "partial_json", "")
	for _, p := range pieces {
		w.delta("input_json_delta", "partial_json", p)
	}
}

func writeStream(c backendtest.Call, r backendtest.Reply) string {
	var w streamWriter
	message := object{"id": fmt.Sprintf("msg_%d", c.Number), "type": "message", "role": "assistant", "content": []any{}}
	if r.Usage != nil {
		message["usage"] = inputUsage(r.Usage)
	}
	w.event("message_start", object{"message": message})
	w.event("ping", object{})
	if r.Fault != backendtest.NoFault {
		w.half(r)
		return w.out.String()
	}
	if r.Reasoning != "" {
		w.start(object{"type": "thinking", "thinking": "", "signature": ""})
		w.delta("thinking_delta", "thinking", r.Reasoning)
		w.delta("signature_delta", "signature", "c2lnbmVk")
		w.stop()
	}
	if r.Text != "" {
		first, second := halves(r.Text)
		w.text(first, second)
		w.stop()
	}
	for _, c := range r.ToolCalls {
		first, second := halves(c.Arguments)
		w.call(c, first, second)
		w.stop()
	}
	w.finish(r)
	return w.out.String()
}

func (w *streamWriter) half(r backendtest.Reply) {
	if r.Text != "" || len(r.ToolCalls) == 0 {
		first, _ := halves(r.Text)
		w.text(first)
	} else {
		first, _ := halves(r.ToolCalls[0].Arguments)
		w.call(r.ToolCalls[0], first)
	}
	if r.Fault == backendtest.ErrorInStream {
		w.event("error", object{"error": object{"type": "api_error", "message": "The server had an error"}})
	}
}

func (w *streamWriter) finish(r backendtest.Reply) {
	reason := r.Finish
	if reason == "" {
		reason = "end_turn"
		if len(r.ToolCalls) > 0 {
			reason = "tool_use"
		}
	}
	delta := object{"delta": object{"stop_reason": reason, "stop_sequence": nil}}
	if r.Usage != nil {
		delta["usage"] = object{"output_tokens": r.Usage.OutputTokens}
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

func halves(s string) (string, string) {
	middle := len(s) / 2
	for i := range s {
		if i >= middle {
			return s[:i], s[i:]
		}
	}
	return s, ""
}

type wireBlock struct {
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
	Content   []wireBlock     `json:"content"`
	IsError   bool            `json:"is_error"`
}

type wireRequest struct {
	Model    string      `json:"model"`
	System   []wireBlock `json:"system"`
	Messages []struct {
		Role    backends.Role `json:"role"`
		Content []wireBlock   `json:"content"`
	} `json:"messages"`
	Tools []struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		InputSchema json.RawMessage `json:"input_schema"`
	} `json:"tools"`
	Stop         []string `json:"stop_sequences"`
	OutputConfig struct {
		Format struct {
			Schema json.RawMessage `json:"schema"`
		} `json:"format"`
	} `json:"output_config"`
	backends.Params
}

// decodeRequest reads a request body. What it cannot read is a request with one
// user message that says so.
func decodeRequest(body []byte) backends.Request {
	var in wireRequest
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
		req.Tools = append(req.Tools, backends.Tool{Name: t.Name, Description: t.Description, Schema: t.InputSchema})
	}
	return req
}

// messagesOf parts the tool results of a user message from what follows them.
func messagesOf(role backends.Role, blocks []wireBlock) []backends.Message {
	var results, rest []backends.Part
	for _, b := range blocks {
		switch b.Type {
		case "text":
			rest = append(rest, backends.Text{Text: b.Text})
		case "image":
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
			for _, c := range b.Content {
				content += c.Text
			}
			results = append(results, backends.ToolResult{CallID: b.ToolUseID, Content: content, IsError: b.IsError})
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

func mustJSON(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(data)
}
