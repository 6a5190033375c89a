package conversation

import (
	"errors"
	"fmt"

	"github.com/massgen/massgen/agents"
	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/contextbuild"
	"github.com/massgen/massgen/contextbuild/policy"
)

// shown selects what is sent of a conversation. What is said from the last user
// message on is always sent: that is the turn that goes on, and no history.
func (a Agent) shown(said Messages, tools []agents.Tool) (Messages, policy.Selection, error) {
	settings := a.Context.Policy
	if settings == (policy.Settings{}) {
		settings = policy.Defaults()
	}
	if err := settings.Validate(); err != nil {
		return nil, policy.Selection{}, fmt.Errorf("context: %w", err)
	}
	if settings.Kind == policy.Summarize {
		return nil, policy.Selection{}, errors.New("context: summarize is a policy of sessions: choose full, window or prune")
	}
	history, turn := said.parted()
	fixed := backends.Request{Messages: contextbuild.Solo(contextbuild.Input{SystemMessage: a.SystemMessage, Conversation: turn})}
	for _, t := range tools {
		fixed.Tools = append(fixed.Tools, t.Definition())
	}
	output := 0
	if a.Params.MaxTokens != nil {
		output = *a.Params.MaxTokens
	}
	room := policy.Room(a.Context.Window, a.Context.Counter.Request(fixed).Tokens, output, 1)
	count := func(m backends.Message) int { return a.Context.Counter.Message(m).Tokens }
	selected, selection := contextbuild.SelectMessages(history, settings, room, count)
	if selection.Everything() {
		return said, selection, nil
	}
	return append(contextbuild.NoteLeftOut(selected), turn...), selection, nil
}

// parted parts a conversation before its last user message.
func (m Messages) parted() (history, turn Messages) {
	for i := len(m) - 1; i >= 0; i-- {
		if m[i].Role == backends.RoleUser {
			return m[:i], m[i:]
		}
	}
	return nil, m
}
