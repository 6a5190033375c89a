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
	p.CheckOrder = checkItemsOrder
	p.whole = func(c Call, r Reply) string {
		w := itemWriter{}
		w.items(r)
		return mustJSON(w.response(c.Number, r))
	}
	p.samples = responsesSamples()
	return p
}

// itemWriter writes the events of one response.
type itemWriter struct {
	out    strings.Builder
	output []object
}

func (w *itemWriter) event(kind string, fields object) {
	fields["type"], fields["output_index"] = kind, len(w.output)
	fmt.Fprintf(&w.out, "event: %s\ndata: %s\n\n", kind, mustJSON(fields))
}

func (w *itemWriter) begin(item object) {
	w.event("response.output_item.added", object{"item": item})
}

func (w *itemWriter) done(item object) {
	w.event("response.output_item.done", object{"item": item})
	w.output = append(w.output, item)
}

// items writes the items of a reply.
func (w *itemWriter) items(r Reply) {
	if r.Reasoning != "" || r.Signature != "" {
		item := object{"type": "reasoning", "id": "rs_1", "summary": []object{{"type": "summary_text", "text": r.Reasoning}}}
		if r.Signature != "" {
			item["encrypted_content"] = r.Signature
		}
		w.begin(object{"type": "reasoning", "id": "rs_1", "summary": []object{}})
		w.event("response.reasoning_summary_text.delta", object{"delta": r.Reasoning, "summary_index": 0})
		w.done(item)
	}
	if r.Text != "" {
		w.begin(object{"type": "message", "role": "assistant", "content": []object{}})
		for _, piece := range halves(r.Text) {
			w.event("response.output_text.delta", object{"delta": piece})
		}
		w.done(object{"type": "message", "role": "assistant", "content": []object{{"type": "output_text", "text": r.Text}}})
	}
	for _, c := range r.ToolCalls {
		w.call(c, halves(c.Arguments)...)
		w.done(itemOf(c, c.Arguments))
	}
}

func itemOf(c backends.ToolCall, arguments string) object {
	return object{"type": "function_call", "call_id": c.ID, "name": c.Name, "arguments": arguments}
}

func (w *itemWriter) call(c backends.ToolCall, pieces ...string) {
	w.begin(itemOf(c, ""))
	for _, piece := range pieces {
		w.event("response.function_call_arguments.delta", object{"delta": piece})
	}
}

// half writes the first half of a reply.
func (w *itemWriter) half(r Reply) {
	if r.Text != "" || len(r.ToolCalls) == 0 {
		w.begin(object{"type": "message", "role": "assistant", "content": []object{}})
		w.event("response.output_text.delta", object{"delta": halves(r.Text)[0]})
	} else {
		w.call(r.ToolCalls[0], halves(r.ToolCalls[0].Arguments)[0])
	}
	if r.Fault == ErrorInStream {
		w.event("error", object{"code": "server_error", "message": "The server had an error", "param": nil})
	}
}

// response is the whole response object.
func (w *itemWriter) response(number int, r Reply) object {
	out := object{
		"id": fmt.Sprintf("resp_%d", number), "object": "response", "status": "completed", "error": nil,
		"output": append([]object{}, w.output...), "incomplete_details": nil, "usage": nil,
	}
	if r.Finish != "" {
		out["status"], out["incomplete_details"] = "incomplete", object{"reason": r.Finish}
	}
	if r.Usage != nil {
		out["usage"] = object{
			"input_tokens": r.Usage.InputTokens, "output_tokens": r.Usage.OutputTokens,
			"input_tokens_details": object{"cached_tokens": r.Usage.CachedInputTokens},
		}
	}
	return out
}

func responsesStream(c Call, r Reply) string {
	var w itemWriter
	w.event("response.created", object{"response": object{"status": "in_progress", "output": []object{}}})
	if r.Fault != NoFault {
		w.half(r)
		return w.out.String()
	}
	w.items(r)
	response := w.response(c.Number, r)
	w.event(fmt.Sprintf("response.%s", response["status"]), object{"response": response})
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
	Output    string          `json:"output"`
}

// decodeResponses reads a request body. What it cannot read is a request with one
// user message that says so.
func decodeResponses(body []byte) backends.Request {
	var in struct {
		Model  string        `json:"model"`
		Input  []decodedItem `json:"input"`
		Output *int          `json:"max_output_tokens"`
		Tools  []struct {
			Name        string          `json:"name"`
			Description string          `json:"description"`
			Parameters  json.RawMessage `json:"parameters"`
		} `json:"tools"`
		Text struct {
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
			backends.ToolResult{CallID: it.CallID, Content: it.Output},
		}})
	case "message":
		return append(messages, backends.Message{Role: it.Role, Parts: itemParts(it.Content)})
	}
	return messages
}

func itemParts(raw json.RawMessage) []backends.Part {
	var pieces []struct {
		Type     string `json:"type"`
		Text     string `json:"text"`
		ImageURL string `json:"image_url"`
	}
	if json.Unmarshal(raw, &pieces) != nil {
		return contentParts(raw)
	}
	var parts []backends.Part
	for _, p := range pieces {
		if p.Type == "input_image" {
			parts = append(parts, imagePart(p.ImageURL))
		} else {
			parts = append(parts, backends.Text{Text: p.Text})
		}
	}
	return parts
}

// checkItemsOrder is CheckChatOrder for the Responses API: the results of calls come right
// after what the model said, one for each, and an item of reasoning is followed by what
// the model said after it.
func checkItemsOrder(body []byte) error {
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
