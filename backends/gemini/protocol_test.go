package gemini_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/backends/backendtest"
)

// object is a JSON object on the wire. The tests write and read the wire format
// on their own, so that a mistake of the adapter is not made twice.
type object = map[string]any

// protocol is the Gemini API, for the server of the tests.
func protocol() backendtest.Protocol {
	return backendtest.Protocol{
		Pattern:    "POST /v1beta/models/{call}",
		Decode:     decodeCall,
		Stream:     func(_ backendtest.Call, r backendtest.Reply) string { return stream(r) },
		Error:      errorBody,
		CheckOrder: backendtest.CheckContentsOrder,
	}
}

// stream writes a reply, or what comes before its fault. A call comes whole or not
// at all, so that a stream which breaks off in a call breaks off in its event.
func stream(r backendtest.Reply) string {
	var out strings.Builder
	if r.Reasoning != "" {
		out.WriteString(partEvent(object{"text": r.Reasoning, "thought": true}))
	}
	middle := len([]rune(r.Text)) / 2
	if r.Text != "" {
		out.WriteString(partEvent(object{"text": string([]rune(r.Text)[:middle])}))
	}
	if r.Fault != backendtest.NoFault {
		return out.String() + brokenEnd(r)
	}
	if r.Text != "" {
		out.WriteString(partEvent(object{"text": string([]rune(r.Text)[middle:])}))
	}
	for _, c := range r.ToolCalls {
		out.WriteString(partEvent(callPart(c)))
	}
	last := object{"candidates": []object{{"content": object{"role": "model"}, "finishReason": finishReason(r), "index": 0}}}
	if r.Usage != nil {
		last["usageMetadata"] = object{
			"promptTokenCount":        r.Usage.InputTokens,
			"cachedContentTokenCount": r.Usage.CachedInputTokens,
			"candidatesTokenCount":    r.Usage.OutputTokens,
			"totalTokenCount":         r.Usage.InputTokens + r.Usage.OutputTokens,
		}
	}
	return out.String() + event(last)
}

func brokenEnd(r backendtest.Reply) string {
	switch {
	case r.Fault == backendtest.ErrorInStream:
		return event(object{"error": object{"code": 503, "message": "The server had an error", "status": "UNAVAILABLE"}})
	case r.Text == "" && len(r.ToolCalls) > 0:
		whole := partEvent(callPart(r.ToolCalls[0]))
		return partEvent(object{"text": ""}) + whole[:len(whole)/2]
	}
	return ""
}

func partEvent(part object) string {
	return event(object{"candidates": []object{{"content": object{"role": "model", "parts": []object{part}}, "index": 0}}})
}

func callPart(c backends.ToolCall) object {
	call := object{"name": c.Name}
	if c.ID != "" {
		call["id"] = c.ID
	}
	if c.Arguments != "" {
		call["args"] = json.RawMessage(c.Arguments)
	}
	return object{"functionCall": call}
}

// event writes a server-sent event as Google does, with CRs.
func event(v object) string { return "data: " + mustJSON(v) + "\r\n\r\n" }

func finishReason(r backendtest.Reply) string {
	if r.Finish != "" {
		return r.Finish
	}
	return "STOP"
}

// errorBody writes an error as a google.rpc.Status. Google has no code for a
// context that is too long, only words.
func errorBody(e backendtest.ReplyError) string {
	if e.Code == "context_length_exceeded" {
		e.Message += " The input token count (9) exceeds the maximum number of tokens allowed (8)."
	}
	return mustJSON(object{"error": object{"code": e.Status, "message": e.Message, "status": "ANY"}})
}

func mustJSON(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("encode: %v", err))
	}
	return string(data)
}

type wireRequest struct {
	SystemInstruction wireContent
	Contents          []wireContent
	Tools             []struct {
		FunctionDeclarations []struct {
			Name, Description    string
			ParametersJSONSchema json.RawMessage
		}
	}
	GenerationConfig struct {
		Temperature     *float64
		TopP            *float64
		MaxOutputTokens *int
		StopSequences   []string
		Seed            *int64

		ResponseMimeType   string
		ResponseJSONSchema json.RawMessage
	}
}

type wireContent struct {
	Role  string
	Parts []wirePart
}

type wirePart struct {
	Text       *string
	InlineData *struct {
		MimeType string
		Data     []byte
	}
	FileData     *struct{ MimeType, FileURI string }
	FunctionCall *struct {
		ID, Name string
		Args     json.RawMessage
	}
	FunctionResponse *struct {
		ID, Name string
		Response struct{ Output, Error *string }
	}
}

func decodeCall(r *http.Request, body []byte) backends.Request {
	var in wireRequest
	if err := json.Unmarshal(body, &in); err != nil {
		return backends.Request{Messages: []backends.Message{backends.User("unreadable request: " + err.Error())}}
	}
	model, method, _ := strings.Cut(r.PathValue("call"), ":")
	if method != "streamGenerateContent" || r.URL.Query().Get("alt") != "sse" {
		model = "wrong method: " + r.URL.String()
	}
	config := in.GenerationConfig
	out := backends.Request{Model: model, Schema: config.ResponseJSONSchema, Params: backends.Params{
		Temperature: config.Temperature, TopP: config.TopP, MaxTokens: config.MaxOutputTokens,
		Stop: config.StopSequences, Seed: config.Seed,
	}}
	if len(in.SystemInstruction.Parts) > 0 {
		out.Messages = append(out.Messages, in.SystemInstruction.message(backends.RoleSystem))
	}
	for _, c := range in.Contents {
		role := backends.RoleUser
		if c.Role == "model" {
			role = backends.RoleAssistant
		}
		out.Messages = append(out.Messages, c.message(role))
	}
	for _, t := range in.Tools {
		for _, d := range t.FunctionDeclarations {
			out.Tools = append(out.Tools, backends.Tool{Name: d.Name, Description: d.Description, Schema: d.ParametersJSONSchema})
		}
	}
	return out
}

func (c wireContent) message(role backends.Role) backends.Message {
	m := backends.Message{Role: role}
	for _, p := range c.Parts {
		switch {
		case p.FunctionResponse != nil:
			m.Role = backends.RoleTool
			m.Parts = append(m.Parts, p.result())
		case p.FunctionCall != nil:
			m.Parts = append(m.Parts, backends.ToolCall{
				ID: p.FunctionCall.ID, Name: p.FunctionCall.Name, Arguments: string(p.FunctionCall.Args),
			})
		case p.InlineData != nil:
			m.Parts = append(m.Parts, backends.Image{MediaType: p.InlineData.MimeType, Data: p.InlineData.Data})
		case p.FileData != nil:
			m.Parts = append(m.Parts, backends.Image{MediaType: p.FileData.MimeType, URL: p.FileData.FileURI})
		case p.Text != nil:
			m.Parts = append(m.Parts, backends.Text{Text: *p.Text})
		default:
			m.Parts = append(m.Parts, backends.Text{Text: "a part of no kind"})
		}
	}
	return m
}

func (p wirePart) result() backends.ToolResult {
	out := backends.ToolResult{CallID: p.FunctionResponse.ID, Name: p.FunctionResponse.Name}
	switch response := p.FunctionResponse.Response; {
	case response.Error != nil:
		out.Content, out.IsError = *response.Error, true
	case response.Output != nil:
		out.Content = *response.Output
	default:
		out.Content = "a result of no kind"
	}
	return out
}
