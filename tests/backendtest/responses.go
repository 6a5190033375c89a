package backendtest

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/massgen/massgen/backends"
)

// Responses is OpenAI's Responses API, that of its reference, "Create a response" and
// "Streaming events".
func Responses() Protocol {
	p := ChatCompletions()
	p.Pattern = "POST /v1/responses"
	p.Decode = func(_ *http.Request, body []byte) backends.Request { return decodeResponses(body) }
	p.Stream = responsesStream
	p.CheckOrder = CheckItemsOrder
	p.whole = func(c Call, r Reply) string {
		w := itemWriter{}
		w.items(r)
		return mustJSON(w.response(c, r, responseStatus(r)))
	}
	p.samples = responsesSamples()
	return p
}

// itemWriter writes the events of one response.
type itemWriter struct {
	out    strings.Builder
	output []object
	events int
}

func (w *itemWriter) event(kind string, fields object) {
	fields["type"], fields["sequence_number"] = kind, w.events
	w.events++
	fmt.Fprintf(&w.out, "event: %s\ndata: %s\n\n", kind, mustJSON(fields))
}

// piece writes an event of the item that is open.
func (w *itemWriter) piece(kind, id string, fields object) {
	fields["item_id"], fields["output_index"] = id, len(w.output)
	w.event(kind, fields)
}

func (w *itemWriter) begin(item object) {
	w.event("response.output_item.added", object{"item": item, "output_index": len(w.output)})
}

func (w *itemWriter) done(item object) {
	w.event("response.output_item.done", object{"item": item, "output_index": len(w.output)})
	w.output = append(w.output, item)
}

// items writes the items of a reply.
func (w *itemWriter) items(r Reply) {
	if r.Reasoning != "" || r.Signature != "" {
		w.reasoning(r)
	}
	w.hosted(r.Hosted)
	if r.Text != "" {
		w.message(r.Text, r.Hosted)
	}
	for _, c := range r.ToolCalls {
		id := w.call(c, halves(c.Arguments)...)
		w.piece("response.function_call_arguments.done", id, object{"arguments": c.Arguments, "name": c.Name})
		w.done(itemOf(id, c, c.Arguments, "completed"))
	}
}

func (w *itemWriter) reasoning(r Reply) {
	id := fmt.Sprintf("rs_%d", len(w.output))
	w.begin(object{"type": "reasoning", "id": id, "summary": []object{}})
	summary := []object{}
	if r.Reasoning != "" {
		part := object{"type": "summary_text", "text": r.Reasoning}
		summary = append(summary, part)
		w.piece("response.reasoning_summary_part.added", id, object{"summary_index": 0, "part": object{"type": "summary_text", "text": ""}})
		for _, piece := range halves(r.Reasoning) {
			w.piece("response.reasoning_summary_text.delta", id, object{"summary_index": 0, "delta": piece})
		}
		w.piece("response.reasoning_summary_text.done", id, object{"summary_index": 0, "text": r.Reasoning})
		w.piece("response.reasoning_summary_part.done", id, object{"summary_index": 0, "part": part})
	}
	item := object{"type": "reasoning", "id": id, "summary": summary}
	if r.Signature != "" {
		item["encrypted_content"] = r.Signature
	}
	w.done(item)
}

func (w *itemWriter) message(text string, h *Hosted) {
	id := w.openMessage()
	notes := h.annotations(text)
	part := object{"type": "output_text", "text": text, "annotations": notes, "logprobs": []object{}}
	for _, piece := range halves(text) {
		w.text(id, piece)
	}
	for i, a := range notes {
		w.piece("response.output_text.annotation.added", id, object{"content_index": 0, "annotation_index": i, "annotation": a})
	}
	w.piece("response.output_text.done", id, object{"content_index": 0, "text": text, "logprobs": []object{}})
	w.piece("response.content_part.done", id, object{"content_index": 0, "part": part})
	w.done(object{"type": "message", "id": id, "status": "completed", "role": "assistant", "content": []object{part}})
}

func (w *itemWriter) openMessage() (id string) {
	id = fmt.Sprintf("msg_%d", len(w.output))
	w.begin(object{"type": "message", "id": id, "status": "in_progress", "role": "assistant", "content": []object{}})
	w.piece("response.content_part.added", id, object{"content_index": 0, "part": object{
		"type": "output_text", "text": "", "annotations": []object{}, "logprobs": []object{},
	}})
	return id
}

func (w *itemWriter) text(id, piece string) {
	w.piece("response.output_text.delta", id, object{"content_index": 0, "delta": piece, "logprobs": []object{}})
}

func itemOf(id string, c backends.ToolCall, arguments, status string) object {
	return object{"type": "function_call", "id": id, "status": status, "call_id": c.ID, "name": c.Name, "arguments": arguments}
}

func (w *itemWriter) call(c backends.ToolCall, pieces ...string) (id string) {
	id = fmt.Sprintf("fc_%d", len(w.output))
	w.begin(itemOf(id, c, "", "in_progress"))
	for _, piece := range pieces {
		w.piece("response.function_call_arguments.delta", id, object{"delta": piece})
	}
	return id
}

// half writes the first half of a reply.
func (w *itemWriter) half(r Reply) {
	if r.Text != "" || len(r.ToolCalls) == 0 {
		w.text(w.openMessage(), halves(r.Text)[0])
	} else {
		w.call(r.ToolCalls[0], halves(r.ToolCalls[0].Arguments)[0])
	}
	if r.Fault == ErrorInStream {
		w.event("error", object{"code": "server_error", "message": "The server had an error", "param": nil})
	}
}

// response is the response object, with all its items once it is whole.
func (w *itemWriter) response(c Call, r Reply, status string) object {
	out := object{
		"id": fmt.Sprintf("resp_%d", c.Number), "object": "response", "created_at": 1, "model": "test-model", "status": status,
		"error": nil, "incomplete_details": nil, "instructions": nil, "metadata": object{}, "output": append([]object{}, w.output...),
		"parallel_tool_calls": true, "temperature": 1, "tool_choice": "auto", "tools": []object{}, "top_p": 1, "usage": nil,
	}
	if status == "incomplete" {
		out["incomplete_details"] = object{"reason": r.Finish}
	}
	if r.Usage != nil && status != "in_progress" {
		out["usage"] = object{
			"input_tokens": r.Usage.InputTokens, "output_tokens": r.Usage.OutputTokens,
			"total_tokens":          r.Usage.InputTokens + r.Usage.OutputTokens,
			"input_tokens_details":  object{"cached_tokens": r.Usage.CachedInputTokens, "cache_write_tokens": 0},
			"output_tokens_details": object{"reasoning_tokens": r.Usage.ReasoningTokens},
		}
	}
	return out
}

func responseStatus(r Reply) string {
	if r.Finish != "" {
		return "incomplete"
	}
	return "completed"
}

func responsesStream(c Call, r Reply) string {
	var w itemWriter
	for _, kind := range []string{"response.created", "response.in_progress"} {
		w.event(kind, object{"response": w.response(c, r, "in_progress")})
	}
	if r.Fault != NoFault {
		w.half(r)
		return w.out.String()
	}
	w.items(r)
	status := responseStatus(r)
	w.event("response."+status, object{"response": w.response(c, r, status)})
	return w.out.String()
}

func responsesSamples() samples {
	return samples{
		finished: events(
			`{"type":"response.output_text.delta","output_index":0,"delta":"x"}`,
			`{"type":"response.completed","response":{"status":"completed"}}`,
		),
		endMark: endMark,
		refused: events(`{"type":"response.incomplete","response":{"incomplete_details":{"reason":"content_filter"}}}`),
		call: events(`{"type":"response.output_item.done","output_index":%[1]d,` +
			`"item":{"type":"function_call","call_id":"id%[1]d","name":"vote","arguments":"{}"}}`),
	}
}

// decodedItem is an item of a request's input.
type decodedItem struct {
	Type      string          `json:"type"`
	Role      backends.Role   `json:"role"`
	Content   json.RawMessage `json:"content"`
	CallID    string          `json:"call_id"`
	Name      string          `json:"name"`
	Arguments string          `json:"arguments"`
	Output    json.RawMessage `json:"output"`
}

// decodeResponses reads a request body. What it cannot read is a request with one
// user message that says so.
func decodeResponses(body []byte) backends.Request {
	var in struct {
		Model  string        `json:"model"`
		Input  []decodedItem `json:"input"`
		Output *int          `json:"max_output_tokens"`
		Tools  []struct {
			Type        string          `json:"type"`
			Name        string          `json:"name"`
			Description string          `json:"description"`
			Parameters  json.RawMessage `json:"parameters"`
		} `json:"tools"`
		MaxToolCalls int `json:"max_tool_calls"`
		Text         struct {
			Format struct {
				Schema json.RawMessage `json:"schema"`
			} `json:"format"`
		} `json:"text"`
		Reasoning struct {
			Effort string `json:"effort"`
		} `json:"reasoning"`
		backends.Params
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return backends.Request{Messages: []backends.Message{backends.User("unreadable request: " + err.Error())}}
	}
	req := backends.Request{Model: in.Model, Params: in.Params, Schema: in.Text.Format.Schema}
	req.Params.MaxTokens, req.Params.ReasoningEffort = in.Output, in.Reasoning.Effort
	var last string
	for _, it := range in.Input {
		req.Messages = it.addTo(req.Messages, last)
		last = it.Type
	}
	for _, t := range in.Tools {
		switch t.Type {
		case "web_search":
			req.Params.Hosted.WebSearch, req.Params.Hosted.MaxUses = true, in.MaxToolCalls
			continue
		case "code_interpreter":
			req.Params.Hosted.CodeInterpreter = true
			continue
		}
		req.Tools = append(req.Tools, backends.Tool{Name: t.Name, Description: t.Description, Schema: t.Parameters})
	}
	return req
}

// addTo adds an item to the messages. A call belongs to the model's message before it.
func (it decodedItem) addTo(messages []backends.Message, before string) []backends.Message {
	switch it.Type {
	case "function_call":
		call := backends.ToolCall{ID: it.CallID, Name: it.Name, Arguments: it.Arguments}
		n := len(messages) - 1
		if n >= 0 && before != "function_call_output" && messages[n].Role == backends.RoleAssistant {
			messages[n].Parts = append(messages[n].Parts, call)
			return messages
		}
		return append(messages, backends.Message{Role: backends.RoleAssistant, Parts: []backends.Part{call}})
	case "function_call_output":
		return append(messages, backends.Message{Role: backends.RoleTool, Parts: []backends.Part{
			it.result(),
		}})
	case "message":
		return append(messages, backends.Message{Role: it.Role, Parts: itemParts(it.Content)})
	}
	return messages
}

// result reads a text, or a list of texts and images.
func (it decodedItem) result() backends.ToolResult {
	r := backends.ToolResult{CallID: it.CallID}
	for _, p := range itemParts(it.Output) {
		switch p := p.(type) {
		case backends.Text:
			r.Content += p.Text
		case backends.Image:
			r.Files = append(r.Files, receivedFile(p.MediaType, p.Data))
		}
	}
	return r
}

func itemParts(raw json.RawMessage) []backends.Part {
	var pieces []struct {
		Type     string `json:"type"`
		Text     string `json:"text"`
		ImageURL string `json:"image_url"`
		FileData string `json:"file_data"`
	}
	if json.Unmarshal(raw, &pieces) != nil {
		return contentParts(raw)
	}
	var parts []backends.Part
	for _, p := range pieces {
		switch p.Type {
		case "input_image":
			parts = append(parts, imagePart(p.ImageURL))
		case "input_file":
			parts = append(parts, imagePart(p.FileData))
		default:
			parts = append(parts, backends.Text{Text: p.Text})
		}
	}
	return parts
}

// CheckItemsOrder is CheckChatOrder for the Responses API: the results of calls come right
// after what the model said, one for each, and an item of reasoning is followed by what
// the model said after it.
func CheckItemsOrder(body []byte) error {
	var request struct {
		Input []decodedItem `json:"input"`
	}
	if err := json.Unmarshal(body, &request); err != nil {
		return fmt.Errorf("read the input: %w", err)
	}
	var entries []entry
	var before string
	for i, it := range request.Input {
		isResult := it.Type == "function_call_output"
		isModels := !isResult && (it.Type != "message" || it.Role == backends.RoleAssistant)
		if before == "reasoning" && !isModels {
			return fmt.Errorf("item %d follows reasoning and is not the model's", i)
		}
		last := len(entries) - 1
		goesOn := last >= 0 && (isResult && before == it.Type || isModels && entries[last].fromModel)
		if !goesOn {
			entries, last = append(entries, entry{at: i, fromModel: isModels}), last+1
		}
		switch {
		case isResult:
			entries[last].results = append(entries[last].results, it.CallID)
		case it.Type == "function_call" && slices.Contains(entries[last].calls, it.CallID):
			return fmt.Errorf("item %d is a second call %q", i, it.CallID)
		case it.Type == "function_call":
			entries[last].calls = append(entries[last].calls, it.CallID)
		}
		before = it.Type
	}
	if before == "reasoning" {
		return errors.New("the input ends with reasoning")
	}
	return checkEntries(entries)
}
