package gemini

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/internal/models/wire"
	"github.com/massgen/massgen/internal/system/plain"
)

// encode turns a request into the body of streamGenerateContent. The same request
// gives the same bytes: the fields are sorted.
func encode(req backends.Request, provider, model string) ([]byte, error) {
	config, err := encodeParams(req.Params, model)
	if err != nil {
		return nil, err
	}
	fields := map[string]any{}
	system, contents, err := encodeMessages(backends.Repair(req.Messages), provider, model)
	if err != nil {
		return nil, err
	}
	fields["contents"] = contents
	if len(system.Parts) > 0 {
		fields["systemInstruction"] = system
	}
	if err := addTools(fields, req, model); err != nil {
		return nil, err
	}
	if len(req.Schema) > 0 {
		if err := wire.CheckReplySchema(req.Schema); err != nil {
			return nil, err
		}
		if !SplitsTools(model, req.Params) { // else the prompt alone tells the form
			config["responseMimeType"], config["responseJsonSchema"] = "application/json", req.Schema
		}
	}
	if len(config) > 0 {
		fields["generationConfig"] = config
	}
	merge(fields, req.Params.ExtraBody)
	body, err := plain.JSON(fields)
	if err != nil {
		return nil, fmt.Errorf("encode the request: %w", err)
	}
	return body, nil
}

// merge puts the values of extra into fields, object by object. A nil removes a
// field.
func merge(fields, extra map[string]any) {
	for name, value := range extra {
		inner, isObject := value.(map[string]any)
		present, hasObject := fields[name].(map[string]any)
		switch {
		case value == nil:
			delete(fields, name)
		case isObject && hasObject:
			merge(present, inner)
		default:
			fields[name] = value
		}
	}
}

func encodeTools(list []backends.Tool) (tools, error) {
	var out tools
	for _, t := range list {
		schema, err := wire.ToolSchema(t)
		if err != nil {
			return tools{}, err
		}
		out.FunctionDeclarations = append(out.FunctionDeclarations, functionDeclaration{t.Name, t.Description, schema})
	}
	return out, nil
}

// encodeMessages parts a conversation into the system instruction, which is all
// its system messages, and the contents.
func encodeMessages(messages []backends.Message, provider, model string) (content, []content, error) {
	var system content
	contents := []content{}
	for _, m := range messages {
		switch m.Role {
		case backends.RoleSystem:
			if slices.ContainsFunc(m.Parts, wire.IsImage) {
				return system, nil, errors.New("an image in a system message cannot be sent to Gemini")
			}
			system.Parts = append(system.Parts, encodeParts(m, provider, model)...)
		case backends.RoleAssistant:
			// Of a message with nothing but reasoning nothing can be sent.
			if parts := encodeParts(m, provider, model); len(parts) > 0 {
				contents = addAnswer(contents, parts)
			}
		default:
			parts := encodeParts(m, provider, model)
			if len(parts) == 0 {
				parts = []any{textPart("")} // a content without parts is refused
			}
			contents = append(contents, content{roleUser, parts})
		}
	}
	if needsSignatures(model) {
		signForeignCalls(contents)
	}
	return system, contents, nil
}

// addAnswer joins what the model said in two messages: the service takes calls only
// in a content that comes after the user's.
func addAnswer(contents []content, parts []any) []content {
	if n := len(contents); n > 0 && contents[n-1].Role == roleModel {
		contents[n-1].Parts = append(contents[n-1].Parts, parts...)
		return contents
	}
	return append(contents, content{roleModel, parts})
}

func textPart(text string) *part { return &part{Text: &text} }

// encodeParts makes the parts of a message. Reasoning is not sent back, unless it was
// signed: then its part was kept.
func encodeParts(m backends.Message, provider, model string) []any {
	var parts []any
	var results []returned
	for _, p := range m.Parts {
		switch p := p.(type) {
		case backends.Text:
			if p.Text != "" {
				parts = append(parts, textPart(p.Text))
			}
		case backends.Image:
			parts = append(parts, imagePart(p))
		case backends.File:
			parts = append(parts, filePart(p))
		case backends.ToolCall:
			parts = append(parts, &part{FunctionCall: &functionCall{
				ID: serviceID(p.ID), Name: p.Name, Args: json.RawMessage(p.Arguments),
			}})
		case backends.ToolResult:
			result := encodeResult(p)
			parts = append(parts, &part{FunctionResponse: result})
			results = append(results, returned{result, p.Files})
		case backends.Opaque:
			if m.Role == backends.RoleAssistant && p.Provider == provider && p.Model == model {
				parts = restore(parts, p.Data)
			}
		}
	}
	return addReturned(parts, results, model)
}

func encodeResult(r backends.ToolResult) *functionResponse {
	kind := "output"
	if r.IsError {
		kind = "error"
	}
	return &functionResponse{ID: serviceID(r.CallID), Name: r.Name, Response: map[string]string{kind: r.Content}}
}

func imagePart(p backends.Image) *part {
	if len(p.Data) > 0 {
		return &part{InlineData: &blob{p.MediaType, p.Data}}
	}
	head, data, isData := strings.Cut(strings.TrimPrefix(p.URL, "data:"), ";base64,")
	if strings.HasPrefix(p.URL, "data:") && isData {
		if decoded, err := base64.StdEncoding.DecodeString(data); err == nil {
			return &part{InlineData: &blob{head, decoded}}
		}
	}
	return &part{FileData: &fileData{p.MediaType, p.URL}}
}

// derivedPrefix begins the ids of calls that came without an id. They join calls and
// results here, and are not sent to the service.
const derivedPrefix = "gemini_call_"

// derivedID names a call that came without an id.
func derivedID(key backends.Key, position int) string {
	return derivedPrefix + strings.TrimPrefix(wire.CallID(key, position), "call_")
}

// serviceID returns id, or "" if the service did not give it.
func serviceID(id string) string {
	if strings.HasPrefix(id, derivedPrefix) {
		return ""
	}
	return id
}
