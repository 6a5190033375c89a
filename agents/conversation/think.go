package conversation

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/massgen/massgen/internal/coordination/budget"
	"github.com/massgen/massgen/internal/coordination/effect"
)

// Reply is what came of one model call.
type Reply struct {
	// Content is the text of the model's message, cleaned of control characters.
	Content string `json:"content"`
	// Conversation is the request's, extended by the request and the model's message.
	Conversation Messages `json:"conversation,omitempty"`
	// ToolCalls wait for their results, as the ToolResults of the next request.
	ToolCalls    []ToolCall   `json:"tool_calls,omitempty"`
	HasToolCalls bool         `json:"has_tool_calls"`
	Usage        budget.Usage `json:"usage"`
	// Warnings say what was repaired in the conversation (Messages.Repaired), what of it
	// was not sent, and whether the message was cut.
	Warnings []string `json:"warnings,omitempty"`
}

// Think makes one model call. It appends the request's tool results and then its
// prompt to the conversation, sends it as far as Agent.Context says, and returns it with
// the model's message at its end. Without a conversation only text comes back.
//
// If the call fails, the error has a *backends.Error in its chain, and the reply's
// conversation is the request's with what was asked at its end, so that it can be sent
// again with no prompt. A request that cannot be sent is an error too, and leaves the
// conversation as it was.
func (a Agent) Think(ctx context.Context, req Request) (Reply, error) {
	x, err := a.thinking(ctx, req)
	if err != nil {
		return Reply{Conversation: req.Conversation}, err
	}
	call := []effect.Effect{effect.ModelCall{Key: effect.Key{Purpose: effect.Conversation}, OwnTools: true}}
	x.next(call)
	if _, err = x.run(ctx, call); err == nil && !x.replied() {
		err = x.failure(ctx)
	}
	reply := Reply{Content: x.content, Usage: x.usage, Warnings: x.warnings}
	if req.Conversation == nil {
		return reply, err
	}
	said, transcriptErr := x.conversation(ctx)
	reply.Conversation, _ = said.Repaired() // the names and arguments of the calls
	for _, c := range reply.Conversation.open() {
		reply.ToolCalls = append(reply.ToolCalls, ToolCall{ID: c.ID, Name: c.Name, Arguments: json.RawMessage(c.Arguments)})
	}
	reply.HasToolCalls = len(reply.ToolCalls) > 0
	return reply, errors.Join(err, transcriptErr)
}

// thinking readies the exchange of a request that one model call can answer.
func (a Agent) thinking(ctx context.Context, req Request) (*exchange, error) {
	if req.Conversation == nil && (len(req.Tools) > 0 || len(req.ToolResults) > 0) {
		return nil, errors.New("tools and tool results need a conversation: give an empty one to begin it")
	}
	messages, warnings, err := req.messages()
	if err != nil {
		return nil, err
	}
	if len(messages.open()) > 0 {
		return nil, errors.New("the conversation's last message calls tools: give their results as tool results, or let Exec run them")
	}
	return a.begin(ctx, messages, warnings, req.Tools)
}
