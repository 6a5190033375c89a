package server

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/contextbuild"
	"github.com/massgen/massgen/internal/coordination/budget"
)

// chatRequest is a request for a chat completion. The config sets the parameters of models, such as the
// temperature; parameters of a request change nothing.
type chatRequest struct {
	Model         string        `json:"model"`
	Messages      []chatMessage `json:"messages"`
	Stream        bool          `json:"stream"`
	StreamOptions *struct {
		IncludeUsage bool `json:"include_usage"`
	} `json:"stream_options"`
	N            *float64                   `json:"n"` // as 1 or 1.0
	Metadata     map[string]json.RawMessage `json:"metadata"`
	Conversation json.RawMessage            `json:"conversation"`
	Background   bool                       `json:"background"`
	Tools        []struct {
		Type     string `json:"type"`
		Function struct {
			Name        string          `json:"name"`
			Description string          `json:"description"`
			Parameters  json.RawMessage `json:"parameters"`
		} `json:"function"`
	} `json:"tools"`
	ToolChoice       json.RawMessage `json:"tool_choice"`
	WebSearchOptions json.RawMessage `json:"web_search_options"`
	Format           *answerFormat   `json:"response_format"`
}

// chatRoutes answer requests for chat completions.
type chatRoutes struct {
	respond responder
	starts  *starts
}

// complete answers POST /v1/chat/completions.
func (a chatRoutes) complete(w http.ResponseWriter, r *http.Request) error {
	var q chatRequest
	_, run, v, err := a.starts.read(r, &q)
	if err != nil {
		return err
	}
	nameSession(w, run)
	c := chatWriter{respond: a.respond, run: run, view: v, id: run.id("chatcmpl-", v)}
	if q.Stream {
		c.includeUsage = q.StreamOptions != nil && q.StreamOptions.IncludeUsage
		c.stream(r.Context(), w)
		return nil
	}
	return c.whole(r.Context(), w)
}

// request returns the question.
func (q chatRequest) request() (request, error) {
	switch {
	case q.Model == "":
		return request{}, badRequest("model", "model is missing: GET /v1/models lists them")
	case len(q.Messages) == 0:
		return request{}, badRequest("messages", "messages is empty: ask a question")
	case q.N != nil && *q.N != 1:
		return request{}, badRequest("n", "n must be 1: a panel agrees on one answer")
	}
	asked := request{model: q.Model, background: q.Background}
	var err error
	if asked.messages, err = readChat(q.Messages); err != nil {
		return asked, err
	}
	if asked.tools, err = q.tools(); err != nil {
		return asked, err
	}
	if o := string(q.WebSearchOptions); o != "" && o != "null" {
		asked.search = "web_search_options"
	}
	if asked.schema, err = q.Format.schema("response_format", "response_format.json_schema.schema"); err != nil {
		return asked, err
	}
	asked.session, err = sessionOf(q.Conversation, q.Metadata)
	return asked, err
}

// tools returns the tools that the client runs.
func (q chatRequest) tools() (list []toolDefinition, err error) {
	isOffered, err := toolChoice(q.ToolChoice)
	if err != nil || !isOffered {
		return nil, err
	}
	for i, t := range q.Tools {
		if err := checkToolType(i, t.Type); err != nil {
			return nil, err
		}
		list = append(list, toolDefinition{t.Function.Name, t.Function.Description, t.Function.Parameters})
	}
	return list, nil
}

// checkToolType refuses a tool that the client cannot run.
func checkToolType(index int, kind string) error {
	if kind == "function" {
		return nil
	}
	place := fmt.Sprintf("tools[%d].type", index)
	return badRequest(place, fmt.Sprintf("%s is %q: this server takes functions only", place, shortened(kind)))
}

// toolChoice reports whether tools are offered at all.
func toolChoice(choice json.RawMessage) (isOffered bool, err error) {
	var word string
	switch {
	case len(choice) == 0 || string(choice) == "null":
		return true, nil
	case json.Unmarshal(choice, &word) == nil && (word == "auto" || word == "none"):
		return word == "auto", nil
	}
	return false, badRequest("tool_choice", "tool_choice is auto or none here: the agents decide which tools they need")
}

// sessionOf returns the session that a request names, "" for none: its conversation, which is an id or
// an object with an id, or session_id in its metadata.
func sessionOf(conversation json.RawMessage, metadata map[string]json.RawMessage) (id string, err error) {
	var named struct {
		ID string `json:"id"`
	}
	switch {
	case len(conversation) > 0 && string(conversation) != "null":
		if json.Unmarshal(conversation, &id) == nil {
			return id, nil
		}
		if json.Unmarshal(conversation, &named) != nil || named.ID == "" {
			return "", badRequest("conversation", "conversation is neither an id nor an object with an id")
		}
		return named.ID, nil
	case metadata["session_id"] != nil && json.Unmarshal(metadata["session_id"], &id) != nil:
		return "", badRequest("metadata.session_id", "metadata.session_id is no string")
	}
	return id, nil
}

// chatWriter writes the response to a chat request.
type chatWriter struct {
	respond      responder
	run          *run
	view         *view
	id           string
	includeUsage bool
}

// chatChoice is the one choice of a response. It has a Message, or in a stream a Delta.
type chatChoice struct {
	Index        int        `json:"index"`
	Message      *chatWhole `json:"message,omitempty"`
	Delta        *chatDelta `json:"delta,omitempty"`
	Logprobs     *struct{}  `json:"logprobs"`
	FinishReason *string    `json:"finish_reason"`
}

// chatWhole is a message of the assistant.
type chatWhole struct {
	Role      string     `json:"role"`
	Content   *string    `json:"content"`
	Refusal   *string    `json:"refusal"`
	Reasoning string     `json:"reasoning_content,omitempty"`
	ToolCalls []toolCall `json:"tool_calls,omitempty"`
	// Annotations are the sources of the content.
	Annotations []object `json:"annotations,omitempty"`
}

// chatDelta is a piece of a message.
type chatDelta struct {
	Role      string        `json:"role,omitempty"`
	Content   *string       `json:"content,omitempty"`
	Reasoning string        `json:"reasoning_content,omitempty"`
	ToolCalls []indexedCall `json:"tool_calls,omitempty"`
	// Annotations come with the last piece.
	Annotations []object `json:"annotations,omitempty"`
}

// indexedCall is a call of a client's tool in a stream.
type indexedCall struct {
	Index int `json:"index"`
	toolCall
}

func indexed(calls []toolCall) (list []indexedCall) {
	for i, c := range calls {
		list = append(list, indexedCall{i, c})
	}
	return list
}

type chatUsage struct {
	PromptTokens     int `json:"prompt_tokens"`
	CompletionTokens int `json:"completion_tokens"`
	TotalTokens      int `json:"total_tokens"`
	PromptDetails    struct {
		CachedTokens int `json:"cached_tokens"`
	} `json:"prompt_tokens_details"`
	CompletionDetails struct {
		ReasoningTokens int `json:"reasoning_tokens"`
	} `json:"completion_tokens_details"`
}

// chatUsageOf returns the usage of one response in the form of chat completions.
func chatUsageOf(u budget.Usage) *chatUsage {
	usage := &chatUsage{PromptTokens: u.InputTokens, CompletionTokens: u.OutputTokens, TotalTokens: u.InputTokens + u.OutputTokens}
	usage.PromptDetails.CachedTokens = u.CachedInputTokens
	usage.CompletionDetails.ReasoningTokens = u.ReasoningTokens
	return usage
}

type chatResponse struct {
	ID      string       `json:"id"`
	Object  string       `json:"object"`
	Created int64        `json:"created"`
	Model   string       `json:"model"`
	Choices []chatChoice `json:"choices"`
	Usage   *chatUsage   `json:"usage,omitempty"`
	// Analysis is the judge's, with the end of the response.
	Analysis *contextbuild.Analysis `json:"analysis,omitempty"`
}

func (c chatWriter) response(object string, choices ...chatChoice) chatResponse {
	return chatResponse{ID: c.id, Object: object, Created: c.run.began.Unix(), Model: c.run.model, Choices: append([]chatChoice{}, choices...)}
}

// whole answers when the turn is over.
func (c chatWriter) whole(ctx context.Context, w http.ResponseWriter) error {
	e, all := c.run.whole(ctx, c.respond, c.view)
	if e.err != nil {
		return e.err
	}
	message := chatWhole{Role: roleAssistant, Reasoning: all.reasoning, ToolCalls: all.calls, Annotations: inChat(annotate(all.content, all.sources))}
	if all.content != "" {
		message.Content = &all.content
	}
	response := c.response("chat.completion", chatChoice{Message: &message, FinishReason: &e.reason})
	response.Usage, response.Analysis = chatUsageOf(e.used), c.respond.analysisOf(e)
	return c.respond.write(w, http.StatusOK, response)
}

// stream sends the answer as server-sent events while it comes.
func (c chatWriter) stream(ctx context.Context, w http.ResponseWriter) {
	out := c.respond.openStream(w)
	defer out.close()
	const object = "chat.completion.chunk"
	empty := ""
	out.send(c.response(object, chatChoice{Delta: &chatDelta{Role: roleAssistant, Content: &empty}}))
	var calls []toolCall
	var sources []backends.Citation
	var content strings.Builder
	for p := range c.respond.pieces(ctx, c.run, c.view) {
		delta := chatDelta{Reasoning: p.reasoning, ToolCalls: indexed(p.calls)}
		if p.content != "" {
			delta.Content = &p.content
		}
		calls, sources = p.calls, p.sources
		content.WriteString(p.content)
		out.send(c.response(object, chatChoice{Delta: &delta}))
	}
	e := c.run.end(ctx, c.view, calls)
	if e.err != nil {
		out.send(c.respond.refusalOf(e.err).json())
		return
	}
	end := c.response(object, chatChoice{Delta: &chatDelta{Annotations: inChat(annotate(content.String(), sources))}, FinishReason: &e.reason})
	end.Analysis = c.respond.analysisOf(e)
	out.send(end)
	if c.includeUsage {
		last := c.response(object)
		last.Usage = chatUsageOf(e.used)
		out.send(last)
	}
	out.put("data: [DONE]\n\n", false)
}
