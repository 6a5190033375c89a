package conversation

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/massgen/massgen/agents"
	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/contextbuild"
)

// Agent is a model with its settings and tools. Connect makes one from the name of a model. It keeps no conversation, so one Agent may
// hold any number of them at once.
type Agent struct {
	// ID names the agent in the keys of its calls, as dumps show them; it may be empty.
	ID      string
	Backend backends.Backend
	Model   string
	// SystemMessage is sent before each conversation, and is not part of it. It may be
	// empty.
	SystemMessage string
	Params        backends.Params
	// Tools are the tools that a request may choose by name.
	Tools []agents.Tool
	// PanelValue is the value that the tools get from agents.PanelValue. A value for one Exec
	// goes into its context (agents.WithTurnValue).
	PanelValue any
	// Context limits how much of a conversation is sent; its zero value sends all of it. The
	// returned conversation is always whole.
	Context agents.Context
	// close closes the connections that Connect has opened; nil for none.
	close func() error
}

// Request is a request to Think or Exec.
type Request struct {
	// Conversation has the earlier messages. An empty one begins a conversation. Without
	// one (nil), Think makes a single turn.
	Conversation Messages `json:"conversation"`
	// Prompt is the next user message. It may be empty when there are tool results, or
	// when the conversation ends with something to reply to.
	Prompt string `json:"prompt"`
	// ToolResults answer the tool calls of the conversation's last message.
	ToolResults []ToolResult `json:"tool_results,omitempty"`
	// Tools are the names of the tools that the model is offered, in this order.
	Tools []string `json:"tools,omitempty"`
}

// choose returns the agent's tools with these names.
func (a Agent) choose(names []string) ([]agents.Tool, error) {
	var known []string
	for _, t := range a.Tools {
		name := t.Definition().Name
		if slices.Contains(known, name) {
			return nil, fmt.Errorf("two of the agent's tools are named %q: rename one", name)
		}
		known = append(known, name)
	}
	var chosen []agents.Tool
	for i, name := range names {
		at := slices.Index(known, name)
		switch {
		case len(known) == 0:
			return nil, fmt.Errorf("tools: there is no %q: the agent has no tools", name)
		case at < 0:
			return nil, fmt.Errorf("tools: there is no %q: the agent's tools are %s", name, commas(known))
		case slices.Contains(names[:i], name):
			return nil, fmt.Errorf("tools: %q is chosen twice", name)
		}
		chosen = append(chosen, a.Tools[at])
	}
	return chosen, nil
}

// messages returns the conversation with the request's tool results and prompt at
// its end, repaired, and the lines of the repair.
func (r Request) messages() (Messages, []string, error) {
	messages := r.Conversation
	if len(r.ToolResults) > 0 {
		results, err := r.results()
		if err != nil {
			return nil, nil, err
		}
		messages = messages.with(backends.Message{Role: backends.RoleTool, Parts: results})
	}
	if strings.TrimSpace(r.Prompt) != "" {
		messages = messages.with(backends.User(contextbuild.Clean(r.Prompt)))
	}
	repaired, warnings := messages.Repaired()
	if len(repaired) == 0 {
		return nil, nil, errors.New("the prompt is empty, and so is the conversation: there is nothing to reply to")
	}
	last := repaired[len(repaired)-1].Role
	if last != backends.RoleUser && last != backends.RoleTool && len(repaired.open()) == 0 {
		return nil, nil, fmt.Errorf("the prompt is empty, and the conversation ends with a message of role %s: there is nothing to reply to", last)
	}
	return repaired, warnings, nil
}

// results returns the tool results as parts of a message. Each must answer an open call.
func (r Request) results() ([]backends.Part, error) {
	waiting := r.Conversation.open()
	var parts []backends.Part
	for i, result := range r.ToolResults {
		at := slices.IndexFunc(waiting, func(c backends.ToolCall) bool { return c.ID == result.ToolUseID })
		if at < 0 {
			return nil, fmt.Errorf("tool_results[%d]: no call %q of the conversation's last message waits for a result", i, result.ToolUseID)
		}
		parts = append(parts, backends.ToolResult{
			CallID: result.ToolUseID, Name: waiting[at].Name, Content: contextbuild.Clean(result.Content), IsError: result.IsError,
		})
		waiting = slices.Concat(waiting[:at], waiting[at+1:])
	}
	return parts, nil
}
