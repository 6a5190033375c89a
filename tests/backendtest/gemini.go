package backendtest

import (
	"cmp"
	"encoding/json"
	"net/http"
	"strings"

	"github.com/massgen/massgen/backends"
)

// GenerateContent is Gemini's protocol, that of Google's API reference, "Generating
// content".
func GenerateContent() Protocol {
	return Protocol{
		Pattern: "POST /v1beta/models/{call}",
		Decode:  decodeGenerate,
		Stream: func(c Call, r Reply) string {
			return generateStream(r, r.Hosted != nil && len(c.Request().Tools) > 0)
		},
		Error:      generateError,
		CheckOrder: func(body []byte) error { return cmp.Or(CheckContentsOrder(body), checkGoogleTools(body)) },
		samples:    generateSamples(),
		WholeCalls: true,
	}
}

// generateStream writes a reply, or what comes before its fault. A call comes whole or not
// at all, so that a stream which breaks off in a call breaks off in its event.
func generateStream(r Reply, withFunctions bool) string {
	var out strings.Builder
	if r.Reasoning != "" {
		out.WriteString(partEvent(object{"text": r.Reasoning, "thought": true}))
	}
	out.WriteString(generateHosted(r.Hosted, withFunctions))
	text := halves(r.Text)
	if r.Text != "" {
		out.WriteString(partEvent(object{"text": text[0]}))
	}
	if r.Fault != NoFault {
		return out.String() + brokenEnd(r)
	}
	if r.Text != "" {
		out.WriteString(partEvent(object{"text": text[1]}))
	}
	for i, c := range r.ToolCalls {
		part := callPart(c)
		if i == 0 && r.Signature != "" {
			part["thoughtSignature"] = r.Signature
		}
		out.WriteString(partEvent(part))
	}
	if len(r.ToolCalls) == 0 && r.Signature != "" {
		out.WriteString(partEvent(object{"text": "", "thoughtSignature": r.Signature}))
	}
	last := object{"candidates": []object{{
		"content": object{"role": "model"}, "finishReason": cmp.Or(r.Finish, "STOP"), "index": 0,
	}}}
	if r.Hosted != nil && r.Hosted.Query != "" {
		last["candidates"].([]object)[0]["groundingMetadata"] = r.Hosted.grounding()
	}
	if r.Usage != nil {
		counts := object{
			"promptTokenCount":        r.Usage.InputTokens,
			"cachedContentTokenCount": r.Usage.CachedInputTokens,
			"candidatesTokenCount":    r.Usage.OutputTokens - r.Usage.ReasoningTokens,
			"totalTokenCount":         r.Usage.InputTokens + r.Usage.OutputTokens,
		}
		if r.Usage.ReasoningTokens > 0 {
			counts["thoughtsTokenCount"] = r.Usage.ReasoningTokens
		}
		last["usageMetadata"] = counts
	}
	return out.String() + event(last)
}

func brokenEnd(r Reply) string {
	switch {
	case r.Fault == ErrorInStream:
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

// generateError writes an error as a google.rpc.Status. Google has no code for a
// context that is too long, only words.
func generateError(e ReplyError) string {
	if e.Code == "context_length_exceeded" {
		e.Message += " The input token count (9) exceeds the maximum number of tokens allowed (8)."
	}
	return mustJSON(object{"error": object{"code": e.Status, "message": e.Message, "status": "ANY"}})
}

type geminiRequest struct {
	SystemInstruction geminiContent
	Contents          []geminiContent
	Tools             []struct {
		FunctionDeclarations []struct {
			Name, Description    string
			ParametersJSONSchema json.RawMessage
		}
		GoogleSearch, CodeExecution, URLContext *struct{}
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

type geminiContent struct {
	Role  string
	Parts []geminiPart
}

type geminiPart struct {
	Text       *string
	InlineData *struct {
		MimeType string
		Data     []byte
	}
	FileData *struct{ MimeType, FileURI string }
	// ToolCall and the others are of hosted tools.
	ToolCall, ToolResponse, ExecutableCode, CodeExecutionResult *struct{ ID string }

	FunctionCall *struct {
		ID, Name string
		Args     json.RawMessage
	}
	FunctionResponse *struct {
		ID, Name string
		Response struct{ Output, Error *string }
		Parts    []geminiPart
	}
}

func decodeGenerate(r *http.Request, body []byte) backends.Request {
	var in geminiRequest
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
		hosted := &out.Params.Hosted
		hosted.WebSearch = hosted.WebSearch || t.GoogleSearch != nil
		hosted.CodeExecution = hosted.CodeExecution || t.CodeExecution != nil
		hosted.WebFetch = hosted.WebFetch || t.URLContext != nil
		for _, d := range t.FunctionDeclarations {
			out.Tools = append(out.Tools, backends.Tool{Name: d.Name, Description: d.Description, Schema: d.ParametersJSONSchema})
		}
	}
	return out
}

func (c geminiContent) message(role backends.Role) backends.Message {
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
		case p.ToolCall != nil, p.ToolResponse != nil, p.ExecutableCode != nil, p.CodeExecutionResult != nil:
			m.Parts = append(m.Parts, backends.HostedCall{})
		case p.Text != nil:
			m.Parts = append(m.Parts, backends.Text{Text: *p.Text})
		default:
			m.Parts = append(m.Parts, backends.Text{Text: "a part of no kind"})
		}
	}
	return m
}

func (p geminiPart) result() backends.ToolResult {
	out := backends.ToolResult{CallID: p.FunctionResponse.ID, Name: p.FunctionResponse.Name}
	switch response := p.FunctionResponse.Response; {
	case response.Error != nil:
		out.Content, out.IsError = *response.Error, true
	case response.Output != nil:
		out.Content = *response.Output
	default:
		out.Content = "a result of no kind"
	}
	for _, inner := range p.FunctionResponse.Parts {
		if data := inner.InlineData; data != nil {
			out.Files = append(out.Files, receivedFile(data.MimeType, data.Data))
		}
	}
	return out
}
