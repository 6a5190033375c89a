package openai

import (
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"

	goopenai "github.com/sashabaranov/go-openai"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/internal/models/wire"
	"github.com/massgen/massgen/internal/system/plain"
)

// encoder writes requests to one model.
type encoder struct {
	provider, model string
	dialect         Dialect
	shared          *wire.Shared
	// withoutKept leaves out the parts that only the model can read.
	withoutKept bool
	// signsForeign adds a signature to calls that have none.
	signsForeign bool
	ids          *itemIDs // of the input that is encoded
}

// encode turns a request into the fields of its body. Nil fields are not sent. The
// library's own structs would drop some fields and lack others. The errors name what the
// model or the service cannot take.
func (e encoder) encode(req *backends.Request) (map[string]any, error) {
	fields := map[string]any{"model": e.model, "stream": true}
	if !e.dialect.NoStreamUsage {
		fields["stream_options"] = goopenai.StreamOptions{IncludeUsage: true}
	}
	if err := e.dialect.Check(e.model, req.Params); err != nil {
		return nil, err
	}
	messages, err := e.encodeMessages(e.alternating(backends.Repair(req.Messages)))
	if err != nil {
		return nil, err
	}
	fields["messages"] = messages
	if len(req.Tools) > 0 {
		if err := e.dialect.CheckTools(e.model, req.Params); err != nil {
			return nil, err
		}
		tools, err := encodeTools(req.Tools)
		if err != nil {
			return nil, err
		}
		fields["tools"] = tools
	}
	if len(req.Schema) > 0 {
		if err := wire.CheckReplySchema(req.Schema); err != nil {
			return nil, err
		}
		e.addResponseFormat(fields, req.Schema, req.Lenient)
	}
	e.addChatSearch(fields, req.Params.Hosted)
	e.addParams(fields, req.Params)
	if fields["tools"] == nil { // nothing can be said of tools that are not there
		fields["tool_choice"], fields["parallel_tool_calls"] = nil, nil
	}
	return fields, nil
}

// message is a message on the wire. Content is a string, a list of parts, or nil
// for a message that only calls tools.
type message struct {
	Role       backends.Role `json:"role"`
	Content    any           `json:"content,omitempty"`
	ToolCalls  []toolCall    `json:"tool_calls,omitempty"`
	ToolCallID string        `json:"tool_call_id,omitempty"`
	keptReasoning
}

// toolCall is a call with the fields that its service wants back.
type toolCall struct {
	ID       string            `json:"id,omitempty"`
	Type     goopenai.ToolType `json:"type"`
	Function calledFunction    `json:"function"`
	extras
}

type calledFunction struct {
	goopenai.FunctionCall
	extras
}

type tool struct {
	Type     goopenai.ToolType           `json:"type"`
	Function goopenai.FunctionDefinition `json:"function"`
}

func encodeTools(tools []backends.Tool) ([]tool, error) {
	var out []tool
	for _, t := range tools {
		schema, err := wire.ToolSchema(t)
		if err != nil {
			return nil, err
		}
		out = append(out, tool{goopenai.ToolTypeFunction, goopenai.FunctionDefinition{
			Name: t.Name, Description: t.Description, Parameters: schema,
		}})
	}
	return out, nil
}

// responseFormat asks for a text that fits a JSON Schema.
type responseFormat struct {
	Type       string `json:"type"`
	JSONSchema struct {
		Name   string          `json:"name"`
		Strict bool            `json:"strict"`
		Schema json.RawMessage `json:"schema"`
	} `json:"json_schema"`
}

// addResponseFormat asks for a reply that fits the schema, or where the service
// knows no schemas, for a JSON object: the prompt says which.
func (e encoder) addResponseFormat(fields map[string]any, schema json.RawMessage, lenient bool) {
	if e.dialect.WholeJSON {
		fields["stream"], fields["stream_options"] = false, nil
	}
	if e.dialect.JSONObject {
		fields["response_format"] = map[string]string{"type": "json_object"}
		return
	}
	out := responseFormat{Type: "json_schema"}
	out.JSONSchema.Name, out.JSONSchema.Strict, out.JSONSchema.Schema = "action", !lenient || isStrict(schema), schema
	fields["response_format"] = out
}

// addParams takes the settings past go-openai, which rounds numbers to 32 bits,
// drops zeros and refuses some by the name of the model.
func (e encoder) addParams(fields map[string]any, p backends.Params) {
	if p.Temperature != nil {
		fields["temperature"] = *p.Temperature
	}
	if p.TopP != nil {
		fields["top_p"] = *p.TopP
	}
	if p.MaxTokens != nil {
		fields[e.maxTokensField()] = *p.MaxTokens
	}
	if len(p.Stop) > 0 {
		fields["stop"] = p.Stop
	}
	if p.Seed != nil {
		fields[cmp.Or(e.dialect.SeedField, "seed")] = *p.Seed
	}
	if p.Verbosity != "" {
		fields["verbosity"] = p.Verbosity
	}
	switch {
	case p.ReasoningEffort == "none" && e.dialect.NoThinking != nil:
		maps.Copy(fields, e.dialect.NoThinking)
	case e.dialect.BudgetField != "" && p.Reasons():
		maps.Copy(fields, e.dialect.Thinking)
		if tokens := cmp.Or(p.ReasoningTokens, thinkingTokens(p.ReasoningEffort)); tokens != nil {
			fields[e.dialect.BudgetField] = *tokens
		}
	case p.ReasoningEffort != "":
		fields["reasoning_effort"] = p.ReasoningEffort
	}
	maps.Copy(fields, p.ExtraBody)
}

// thinkingTokens is what an effort may take where a service counts tokens, nil for as much as
// the model likes.
func thinkingTokens(effort string) *int {
	tokens, ok := map[string]int{"minimal": 1024, "low": 2048, "medium": 8192, "high": 16384, "xhigh": 32768}[effort]
	if !ok {
		return nil
	}
	return &tokens
}

func (e encoder) maxTokensField() string {
	if e.dialect.limits(e.model).MaxCompletionTokens {
		return "max_completion_tokens"
	}
	return "max_tokens"
}

func (e encoder) encodeMessages(list []backends.Message) (wire.Encoded, error) {
	return encodeEach(e, "user", list, e.encodeMessage)
}

// encodeEach encodes what encode makes of each message, as one list. What it makes of a user's text
// is encoded once for all calls that share it, under a name of its kind.
func encodeEach[T any](e encoder, kind string, list []backends.Message, encode func(backends.Message) ([]T, error)) (wire.Encoded, error) {
	out := wire.Encoded{[]byte("[")}
	add := func(encoded []byte) {
		if len(out) > 1 {
			out = append(out, []byte(","))
		}
		out = append(out, encoded)
	}
	for _, m := range list {
		made := func() (any, error) {
			all, err := encode(m)
			if err != nil {
				return nil, err
			}
			return all[0], nil
		}
		if text := m.Text(); text != "" && m.Role == backends.RoleUser && len(m.Parts) == 1 && !wire.IsImage(m.Parts[0]) {
			encoded, err := e.shared.EncodeText(kind, text, made)
			if err != nil {
				return nil, fmt.Errorf("encode messages: %w", err)
			}
			add(encoded)
			continue
		}
		all, err := encode(m)
		if err != nil {
			return nil, err
		}
		for _, one := range all {
			encoded, err := plain.JSON(one)
			if err != nil {
				return nil, fmt.Errorf("encode messages: %w", err)
			}
			add(encoded)
		}
	}
	return append(out, []byte("]")), nil
}

// encodeMessage makes the wire messages of one message: one for each result of a
// tool message, and an empty list for an assistant message without content, since some
// services refuse an empty message. Readable reasoning is not sent back: an opaque part
// has what the service wants.
func (e encoder) encodeMessage(m backends.Message) ([]message, error) {
	if i := slices.IndexFunc(m.Parts, wire.IsImage); i >= 0 {
		if err := e.checkImage(m.Role, m.Parts[i]); err != nil {
			return nil, err
		}
	}
	out := message{Role: m.Role, Content: m.Text()}
	switch m.Role {
	case backends.RoleTool:
		return e.encodeResults(m)
	case backends.RoleAssistant:
		kept := e.kept(m)
		for _, c := range m.ToolCalls() {
			fields := kept.Calls[c.ID]
			out.ToolCalls = append(out.ToolCalls, toolCall{
				ID:       e.callID(c.ID),
				Type:     goopenai.ToolTypeFunction,
				Function: calledFunction{goopenai.FunctionCall{Name: c.Name, Arguments: c.Arguments}, fields.Function},
				extras:   fields.extras,
			})
		}
		if e.signsForeign {
			signForeign(out.ToolCalls)
		}
		if out.Content == "" {
			out.Content = nil
		}
		if out.Content == nil && len(out.ToolCalls) == 0 {
			return nil, nil
		}
		out.keptReasoning = kept.keptReasoning
	case backends.RoleUser:
		if slices.ContainsFunc(m.Parts, wire.IsImage) {
			out.Content = encodeParts(m.Parts)
		}
	}
	return []message{out}, nil
}

// checkImage refuses an image that cannot be sent.
func (e encoder) checkImage(role backends.Role, p backends.Part) error {
	if file, ok := p.(backends.File); ok {
		return e.checkFile(role, file)
	}
	switch image, _ := p.(backends.Image); {
	case role != backends.RoleUser:
		return fmt.Errorf("an image in a message of role %s cannot be sent in chat completions", role)
	case e.dialect.limits(e.model).NoImages:
		return fmt.Errorf("an image cannot be sent to %s, which takes only text", e.model)
	case len(image.Data) == 0 && image.URL == "":
		return errors.New("an image has neither data nor an address")
	}
	return nil
}

// The longest ids of tool calls that OpenAI takes: its errors name them ("Expected a string with maximum
// length 40", and 64 for call_id).
const (
	mostChatID = 40
	mostItemID = 64
)

// callID returns the id that a call has on the wire: its own, unless another service
// gave it and this one cannot take it.
func (e encoder) callID(id string) string {
	switch {
	case e.dialect.ShortIDs && len(id) > mostChatID:
		return wire.ShortID(id)
	case !e.dialect.NineLetterIDs || regexp.MustCompile(`^[a-zA-Z0-9]{9}$`).MatchString(id):
		return id
	}
	return fmt.Sprintf("%x", sha256.Sum256([]byte(id)))[:9]
}

// encodeResults makes a message of each result. A tool's message has text alone, so the pictures
// that tools returned follow in a message of the user's.
func (e encoder) encodeResults(m backends.Message) ([]message, error) {
	var out []message
	var returned []any
	for _, p := range m.Parts {
		if r, ok := p.(backends.ToolResult); ok {
			out = append(out, message{Role: m.Role, ToolCallID: e.callID(r.CallID), Content: r.Content})
			parts, err := e.returnedParts(r)
			if err != nil {
				return nil, err
			}
			returned = append(returned, parts...)
		}
	}
	if len(returned) > 0 {
		out = append(out, message{Role: backends.RoleUser, Content: returned})
	}
	return out, nil
}

// encodeParts makes the content of a message that has images.
func encodeParts(parts []backends.Part) []any {
	var out []any
	for _, p := range parts {
		switch p := p.(type) {
		case backends.Text:
			if p.Text != "" {
				out = append(out, goopenai.ChatMessagePart{Type: goopenai.ChatMessagePartTypeText, Text: p.Text})
			}
		case backends.File:
			out = append(out, chatFile(p))
		case backends.Image:
			out = append(out, goopenai.ChatMessagePart{
				Type:     goopenai.ChatMessagePartTypeImageURL,
				ImageURL: &goopenai.ChatMessageImageURL{URL: imageURL(p)},
			})
		}
	}
	return out
}

func imageURL(p backends.Image) string {
	if len(p.Data) == 0 {
		return p.URL
	}
	return "data:" + p.MediaType + ";base64," + base64.StdEncoding.EncodeToString(p.Data)
}
