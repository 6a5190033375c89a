package conversation

import (
	"errors"
	"fmt"

	"github.com/massgen/massgen/agents"
	"github.com/massgen/massgen/backends"
	"github.com/massgen/massgen/contextbuild"
	"github.com/massgen/massgen/internal/coordination/policy"
	"github.com/massgen/massgen/internal/models/prices"
)

// shown is the part of a conversation that is sent.
type shown struct {
	messages Messages
	// selection describes the history among them, and step limits the part of the later
	// messages that is sent.
	selection policy.Selection
	step      policy.StepLimits
	warnings  []string
}

// shown selects the part of a conversation that is sent. The messages from the last user
// message on are the running turn, not history: the limits of a step hold for them.
func (a Agent) shown(said Messages, tools []agents.Tool) (shown, error) {
	settings := a.Context.Policy
	if settings == (policy.Settings{}) {
		settings = policy.Defaults()
	}
	if err := settings.Validate(); err != nil {
		return shown{}, fmt.Errorf("context: %w", err)
	}
	if settings.Kind == policy.Summarize {
		return shown{}, errors.New("context: summarize is a policy of sessions: choose full, window or prune")
	}
	output := 0
	if a.Params.MaxTokens != nil {
		output = *a.Params.MaxTokens
	}
	history, turn := said.parted()
	var s shown
	turn = s.cutTurn(turn, settings.StepLimits(a.Context.Window, a.fixed(turn[:min(1, len(turn))], tools), output, prices.BytesPerToken))
	first := a.fixed(turn, tools)
	room := policy.Room(a.Context.Window, first, output, 1)
	count := func(m backends.Message) int { return a.Context.Counter.Message(m).Tokens }
	var selected Messages
	selected, s.selection = contextbuild.SelectMessages(history, settings, room, count)
	s.step = settings.StepLimits(a.Context.Window, first+s.selection.Tokens, output, prices.BytesPerToken)
	if s.selection.Everything() {
		s.messages = append(history[:len(history):len(history)], turn...)
		return s, nil
	}
	s.messages = append(contextbuild.MarkLeftOut(selected), turn...)
	s.warnings = append([]string{fmt.Sprintf("not all of the conversation was sent; policy %s", s.selection)}, s.warnings...)
	return s, nil
}

// cutTurn omits the part of a running turn that exceeds the limits.
func (s *shown) cutTurn(turn Messages, limits policy.StepLimits) Messages {
	kept, messages, results := contextbuild.SelectStep(turn, limits)
	if messages > 0 {
		s.warnings = append(s.warnings, leftOutOfStep(messages, results, limits))
	}
	return kept
}

func leftOutOfStep(messages, results int, limits policy.StepLimits) string {
	return fmt.Sprintf("of what was said since the last question, %s left out; policy %s", contextbuild.CountLeftOut(messages, results), limits.Kind)
}

// fixed counts the tokens of an input without its history.
func (a Agent) fixed(turn Messages, tools []agents.Tool) int {
	req := backends.Request{Messages: contextbuild.Solo(contextbuild.Input{SystemMessage: a.SystemMessage, Conversation: turn})}
	for _, t := range tools {
		req.Tools = append(req.Tools, t.Definition())
	}
	return a.Context.Counter.Request(req).Tokens
}

// parted splits a conversation before its last user message.
func (m Messages) parted() (history, turn Messages) {
	for i := len(m) - 1; i >= 0; i-- {
		if m[i].Role == backends.RoleUser {
			return m[:i], m[i:]
		}
	}
	return nil, m
}
